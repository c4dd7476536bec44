# shellcheck shell=bash
# For the scripts that take files from Debian's archive, of whatever release: apt with sources and a state of its own in
# a folder, so that the machine's are not touched. apt holds what it gets against the archive's signed lists.

# machine_mirrors: the addresses of the machine's own sources, in either format of apt's, that are a Debian archive.
machine_mirrors() {
    # Some of these files do not exist.
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
        sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]*debian[^ ]*).*/\3/p'
}

# Of these the first of releases, and of their security updates.
release_mirror() { machine_mirrors | grep -m 1 -v security; }
security_mirror() { machine_mirrors | grep -m 1 security; }

# apt_folder FOLDER LINE…: makes it; a line is such as "deb-src http://deb.debian.org/debian trixie main".
apt_folder() {
    local folder=$1 line
    shift
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial"
    for line in "$@"; do
        echo "${line/ / [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] }"
    done >"$folder/sources.list"
}

# apt_in FOLDER ARGUMENT…: apt-get with what apt_folder has made.
apt_in() {
    local folder=$1
    shift
    apt-get -qq -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$folder/state" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root \
        -o Acquire::Languages=none -o Acquire::Retries=0 -o Acquire::http::Timeout=20 "$@"
}
