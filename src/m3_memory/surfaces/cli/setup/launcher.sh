#!/bin/sh
# Starts m3 Memory for the hosts that "m3 setup" wired, wherever its Python went. Setup wrote this file, and
# writes it again each time it runs. Nothing is printed on standard output: that belongs to the server.
python=@PYTHON@
package=@PACKAGE@
self=@SELF@

if [ -x "$python" ] && [ -f "$package/__main__.py" ]; then
    exec "$python" -P -m m3_memory "$@"
fi

# That Python is gone, or what was installed in it. A program found here may lead back to this file: look once.
if [ -z "${M3_LAUNCHER_LOOKED-}" ]; then
    M3_LAUNCHER_LOOKED=1
    export M3_LAUNCHER_LOOKED
    places="${PATH-}:${PIPX_BIN_DIR-}:${UV_TOOL_BIN_DIR-}:${XDG_BIN_HOME-}:${HOME-}/.local/bin"
    places="$places:${HOME-}/.local/share/pipx/venvs/m3-memory/bin:${HOME-}/.local/pipx/venvs/m3-memory/bin"
    places="$places:${HOME-}/.local/share/uv/tools/m3-memory/bin"
    IFS=:
    set -f
    for folder in $places; do
        case $folder in /*) ;; *) continue ;; esac
        for name in m3 mcp-memory; do
            found=$folder/$name
            if [ -f "$found" ] && [ -x "$found" ] && ! [ "$found" -ef "$self" ]; then
                exec "$found" "$@"
            fi
        done
    done
fi

printf '%s\n' "m3: m3 Memory is not where it was ($python), nor is another m3 on the PATH." \
    "    Install it again (pipx install m3-memory), then run: m3 setup" >&2
exit @EXIT_CODE@
