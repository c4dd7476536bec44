#!/usr/bin/env bash
# The version stands in cornu.h, and all else says the same: version_test.sh SOURCE_FOLDER PROGRAM LIBRARY
set -euo pipefail
source=$1 program=$2 library=$3
version=$(sed -n 's/^#define CORNU_VERSION "\(.*\)"$/\1/p' "$source/include/cornu/cornu.h")

# expect WHAT FOUND
expect() {
    [ "$2" = "$version" ] || {
        echo "$1: found version \"$2\"; expected $version, cornu.h's"
        exit 1
    }
}
expect "$program" "$("$program" --version | sed 's/^cornu //')"
expect "$library" "$(readlink -f "$library" | sed 's/.*\.so\.//')"
expect CHANGELOG.md "$(sed -n 's/^## \[\([0-9].*\)\] - [0-9-]*$/\1/p' "$source/CHANGELOG.md" | head -n 1)"

# Nothing that is built from writes it a second time.
cd "$source"
found=$(grep -nF "$version" CMakeLists.txt CMakePresets.json pyproject.toml cmake/*.* scripts/*.sh || true)
[ -z "$found" ] || {
    echo "the version stands a second time: $found"
    exit 1
}
