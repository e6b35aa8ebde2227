"""`m3 setup`: the server's entry in each host's configuration: put there, proven, and taken out again."""
