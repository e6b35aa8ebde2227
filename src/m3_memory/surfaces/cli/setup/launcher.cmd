@echo off
rem Starts m3 Memory for the hosts that "m3 setup" wired, wherever its Python went. Setup wrote this file, and
rem writes it again each time it runs. Nothing is printed on standard output: that belongs to the server.
chcp 65001 >nul
setlocal disabledelayedexpansion
set "M3_PYTHON=@PYTHON@"
set "M3_PACKAGE=@PACKAGE@"

if exist "%M3_PYTHON%" if exist "%M3_PACKAGE%\__main__.py" (
    "%M3_PYTHON%" -P -m m3_memory %*
    exit /b
)

set "PATH=%PATH%;%PIPX_BIN_DIR%;%UV_TOOL_BIN_DIR%;%USERPROFILE%\.local\bin"
for %%N in (m3.exe mcp-memory.exe) do if not "%%~$PATH:N" == "" (
    "%%~$PATH:N" %*
    exit /b
)

echo m3: m3 Memory is not where it was (%M3_PYTHON%), nor is another m3 on the PATH. 1>&2
echo     Install it again (pipx install m3-memory), then run: m3 setup 1>&2
exit /b @EXIT_CODE@
