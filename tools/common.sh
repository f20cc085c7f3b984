# Shared by the scripts in this folder; source it, do not run it. Works in bash 3.2 and later.
# shellcheck shell=bash

# WINDTUNNEL_OS_RELEASE names another file to read in place of /etc/os-release: the tests pretend to be elsewhere.
OS_RELEASE=${WINDTUNNEL_OS_RELEASE:-/etc/os-release}

say() { printf '%s\n' "$*"; }

# One sentence that says what is missing and the way out. Exit code 6 is windtunnel's code for infrastructure.
refuse() {
    printf '%s\n' "$*" >&2
    exit 6
}

usage_error() {
    printf '%s\n' "$*" >&2
    exit 2
}

has() { command -v "$1" >/dev/null 2>&1; }

# The comment block at the top of a script, without its first line, is its help.
show_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

is_root() { [ "$(id -u)" = 0 ]; }

# shellcheck disable=SC1090
os_field() { [ -r "$OS_RELEASE" ] && (. "$OS_RELEASE" && eval "printf '%s' \"\${$1:-}\""); }

os_name() {
    local name
    name=$(os_field PRETTY_NAME) || true
    printf '%s' "${name:-$(uname -s)}"
}

# Debian, Ubuntu and what is made from them.
is_debian() {
    has apt-get || return 1
    case " $(os_field ID) $(os_field ID_LIKE) " in
        *" debian "* | *" ubuntu "*) return 0 ;;
        *) return 1 ;;
    esac
}

# SECONDS COMMAND...: the command, ended after that long where the machine has timeout(1).
bounded() {
    local seconds=$1
    shift
    if has timeout; then timeout "$seconds" "$@"; else "$@"; fi
}

# PACKAGE...: install Debian packages; what apt says is shown only when it fails.
apt_install() {
    local log status=0
    log=$(mktemp)
    # An unreachable third-party source must not stop us: whether the packages can be had is what counts.
    # Two of our scripts may need packages at the same time, and apt-get update does not wait for another one.
    {
        ! has flock || flock -w 300 8
        apt-get -o DPkg::Lock::Timeout=300 update || true
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
    } >"$log" 2>&1 </dev/null 8>"$(lock_file apt)" || status=$?
    [ "$status" = 0 ] || tail -n 15 "$log" >&2
    rm -f "$log"
    return "$status"
}

# NAME: the file to flock(1) for something that only one process of this user may do at a time.
lock_file() {
    if is_root && [ -d /run/lock ]; then
        printf '/run/lock/windtunnel-%s.lock' "$1"
    else
        printf '%s/windtunnel-%s-%s.lock' "${TMPDIR:-/tmp}" "$(id -u)" "$1"
    fi
}
