#!/usr/bin/env bash
# Makes .test/mcp1, a virtual environment with the first generation of the official Python MCP client,
# which can't live beside the second. Does nothing when it is there. The Node clients and the second Python
# generation come with `dev/environment dev`.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=mcp==1.30.0
folder=.test/mcp1
if [ "$(cat "$folder/.holds" 2>/dev/null)" != "$wanted" ]; then
    echo "setting up $folder" >&2
    rm -rf "$folder"
    .venv/bin/python -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$wanted"
    echo "$wanted" >"$folder/.holds"
fi
