# shellcheck shell=bash disable=SC2154
# Part of gpu_run.sh: commands with limits, what came of them, and the summary. Results are written when they are there,
# so that a run that is killed keeps them.

is_one_of() {
    local wanted=$1 word
    shift
    for word in "$@"; do
        [ "$word" != "$wanted" ] || return 0
    done
    return 1
}

# Milliseconds.
now() {
    local time=${EPOCHREALTIME/[.,]/}
    echo $((time / 1000))
}

as_seconds() {
    printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100))
}

# One line of JSON's text, without its quotes.
json_text() {
    local text=${1//\\/\\\\}
    text=${text//\"/\\\"}
    printf '%s' "${text//[[:cntrl:]]/ }"
}

# ---- a part -------------------------------------------------------------------------------------

records_open() {
    part=$1 part_begin=$(now) closed=false
    part_end=$((part_begin + minutes * 60000))
    results=$out/part$part.jsonl log=$out/part$part.log
    work=$(mktemp -d "${TMPDIR:-/tmp}/cornu-gpu.XXXXXX") || exit 64
    tee "$results" "$log" "$work/records" "$work/values" "$work/facts" "$work/times" </dev/null
    rm -f "$out/part$part.txt" "$out/part$part.json"
}

# fact TEXT: a line for the head of the summary.
fact() {
    printf '%s\n' "$*" >>"$work/facts"
    printf '{"fact":"%s"}\n' "$(json_text "$*")" >>"$results"
    printf '         %s\n' "$*"
}

# record STEP NAME passed|failed|skipped|cut MILLISECONDS [MESSAGE]
record() {
    local message=${5:-} seconds
    seconds=$(as_seconds "$4")
    printf '{"step":"%s","name":"%s","status":"%s","seconds":%s,"message":"%s"}\n' "$1" "$(json_text "$2")" "$3" \
        "$seconds" "$(json_text "$message")" >>"$results"
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$seconds" "${message//[[:cntrl:]]/ }" >>"$work/records"
    printf '%-8s %s: %s (%s s)%s\n' "$3" "$1" "$2" "$seconds" "${message:+: ${message:0:300}}"
}

# value WORKLOAD WHAT PRECISION MILLISECONDS PERCENT_OF_ROOFLINE: of a step; the last may be empty.
value() {
    printf '{"workload":"%s","what":"%s","precision":"%s","ms_per_step":%s,"percent_of_roofline":%s}\n' "$1" "$2" "$3" \
        "$4" "${5:-null}" >>"$results"
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "${5:-}" >>"$work/values"
}

step_begin() {
    step_began=$(now)
    printf '%s: %s\n' "part $part" "$1"
}

step_end() {
    local seconds
    seconds=$(as_seconds $(($(now) - step_began)))
    keep_logs
    printf '%s\t%s\n' "$1" "$seconds" >>"$work/times"
    printf '{"step":"%s","step_seconds":%s}\n' "$1" "$seconds" >>"$results"
}

# What commands printed, into the one log.
keep_logs() {
    local file
    for file in "$work"/*.out; do
        [ -e "$file" ] || continue
        printf '\n==== %s\n' "$(basename "${file%.out}")"
        cat "$file"
        mv "$file" "${file%.out}.kept"
    done >>"$log"
}

# ---- a command ----------------------------------------------------------------------------------

# task STEP NAME SECONDS JUDGE COMMAND...: run it in its limit, which grows with --minutes and ends with the part. JUDGE: a
# function that makes `verdict` and `message` of its status and its output.
task() {
    local step=$1 name=$2 limit=$(($3 * minutes / 5)) judge=$4 left begin status=0 verdict message
    local output=$work/$step.$2.out
    shift 4
    begin=$(now)
    left=$(((part_end - begin) / 1000))
    [ "$limit" -le "$left" ] || limit=$left
    if [ "$limit" -lt 1 ]; then
        record "$step" "$name" cut 0 "the part's $minutes minutes are over"
        return 1
    fi
    # A task beside others is a subshell, which ends its command where the run ends.
    [ "$BASHPID" = $$ ] || trap 'kill $!; exit 1' INT TERM
    timeout -k 5 "$limit" "$@" >"$output" 2>&1 </dev/null & # a signal ends a wait at once, a command only after it
    { wait $!; } 2>/dev/null || status=$? # without the shell's own line about a killed command
    if is_one_of "$status" 124 137 && [ $(($(now) - begin)) -ge $((limit * 1000 - 500)) ]; then
        verdict=cut message="its limit of $limit s is over$(last_test "$output")"
    else
        "$judge" "$status" "$output"
    fi
    record "$step" "$name" "$verdict" $(($(now) - begin)) "$message"
    [ "$verdict" = passed ]
}

# Start no further command while as many run as should.
at_most() {
    while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do
        wait -n
    done
}

last_test() {
    sed -n 's/^\[ RUN      \] /, in /p' "$1" | tail -n 1
}

# The first line that says what is wrong, of a cmocka program: what it prints of a case comes before the failure.
first_failure() {
    awk '
    /^\[ RUN / { test = $4; line = error = ""; next }
    /^\[  ERROR   \] --- / { if (error == "") error = substr($0, 18); next }
    /^\[  FAILED  \] / { if (!failed) { failed = 1; said = test ": " better(); } next }
    /^simulated CUDA: / && found == "" { found = $0 }
    /^\[/ || /^$/ { next }
    { if (line == "") line = $0; last = $0 }
    function better() { return error == "" || (error ~ /^(0x)?[0-9a-f]+ [!=]= / && line != "") ? line : error }
    END {
        if (failed && found != "" && said ~ /: $/) said = said found
        if (!failed && found != "") said = found
        else if (!failed) said = (test == "" ? "" : test ": ") (better() != "" ? better() : last)
        print said
    }' "$1"
}

judge_test() {
    local ran skipped
    ran=$(grep -c '^\[       OK \]' "$2")
    skipped=$(grep -c '^\[  SKIPPED \].*[^:]$' "$2")
    verdict=passed message="$ran tests"
    [ "$skipped" = 0 ] || message="$message, $((skipped / 2)) skipped"
    if [ "$1" != 0 ]; then
        verdict=failed message=$(first_failure "$2")
        [ "$1" -le 128 ] || message="signal $(($1 - 128)): $message"
        [ -n "$message" ] || message="status $1"
    elif [ "$ran" = 0 ]; then
        verdict=failed message="every test was skipped; expected some on cuda:0"
    fi
}

judge_plain() {
    verdict=passed message=''
    [ "$1" != 0 ] || return 0
    verdict=failed
    message="status $1: $(grep -E '^cornu: |[Ee]rror' "$2" | head -n 1)"
    [ "$message" != "status $1: " ] || message="status $1: $(tail -n 1 "$2")"
}

# compute-sanitizer's. That it says "0 errors" of a program that used no GPU proves nothing: its tests must have run.
judge_sanitizer() {
    local refused
    refused=$(grep -m 1 -E 'Device not supported|not supported on this|Unable to (open|find)' "$2")
    judge_test "$@"
    if [ -n "$refused" ] && [ "$verdict" = failed ]; then
        verdict=skipped message="compute-sanitizer does not work here: $refused"
    elif grep -qE '^=+ (ERROR|RACECHECK) SUMMARY: 0 (errors|hazards)' "$2"; then
        :
    else
        [ "$verdict" = passed ] && message="compute-sanitizer printed no summary of 0 errors"
        verdict=failed
        message=$(grep -E '^=+ .*[a-z]' "$2" | grep -vE 'COMPUTE-SANITIZER|SUMMARY' | head -n 1 | grep . || echo "$message")
    fi
}

# ---- the summary --------------------------------------------------------------------------------

count_of() {
    awk -F'\t' -v s="$1" '$3 == s { n++ } END { print n + 0 }' "$work/records"
}

# Each step: how many passed and so on, and how long it took.
summary_steps() {
    awk -F'\t' '
    FILENAME ~ /times$/ { seconds[$1] = $2; next }
    !($1 in order) { order[$1] = ++n; name[n] = $1 }
    { count[$1, $3]++ }
    END {
        printf "%-12s %7s %7s %7s %7s %9s\n", "step", "passed", "failed", "skipped", "cut", "seconds"
        for (i = 1; i <= n; i++)
            printf "%-12s %7d %7d %7d %7d %9s\n", name[i], count[name[i], "passed"], count[name[i], "failed"],
                count[name[i], "skipped"], count[name[i], "cut"], seconds[name[i]]
    }' "$work/times" "$work/records"
}

# Lines of one status, at most 20.
summary_of() {
    local title=$2 lines
    lines=$(awk -F'\t' -v s="$1" '$3 == s { print "  " $1 ": " $2 ": " substr($5, 1, 240) }' "$work/records")
    [ -n "$lines" ] || return 0
    printf '\n%s\n%s\n' "$title" "$(head -n 20 <<<"$lines")"
    [ "$(wc -l <<<"$lines")" -le 20 ] || echo "  ... $(($(wc -l <<<"$lines") - 20)) more in part$part.jsonl"
}

# The times of each workload's step, the share of the roofline, and how much longer the others take than cornu on cuda:0.
summary_values() {
    [ -s "$work/values" ] || return 0
    printf '\n%-17s %-24s %-9s %10s %10s %10s\n' "workload" "what" "precision" "ms a step" "% roofline" "x of cuda:0"
    awk -F'\t' '
    { row[++n] = $0 }
    $2 ~ /^cornu cuda:0/ { own[$1, $3] = $4 }
    END {
        for (i = 1; i <= n; i++) {
            split(row[i], f, "\t")
            base = own[f[1], f[3]]
            if (base == "") base = own[f[1], "fp32"]
            printf "%-17s %-24s %-9s %10.4g %10s %10s\n", f[1], f[2], f[3], f[4],
                (f[5] == "" ? "" : sprintf("%.0f", f[5])),
                (base + 0 == 0 || f[2] ~ /cuda:0/ ? "" : sprintf("%.2f", f[4] / base))
        }
    }' "$work/values"
}

summary() {
    printf 'cornu on a GPU, part %s: %s; %d passed, %d failed, %d skipped, %d cut, in %s s\n' "$part" "$1" \
        "$(count_of passed)" "$(count_of failed)" "$(count_of skipped)" "$(count_of cut)" \
        "$(as_seconds $(($(now) - part_begin)))"
    cat "$work/facts"
    summary_of failed "FAILED, each with its first difference:"
    printf '\n'
    summary_steps
    summary_of cut "Cut by a limit (--minutes gives more):"
    summary_of skipped "Skipped:"
    summary_values
    [ ! -s "$work/kernels" ] || { printf '\nSlowest kernels of a step (ncu):\n'; cat "$work/kernels"; }
}

summary_json() {
    printf '{"part":%s,"status":"%s","passed":%d,"failed":%d,"skipped":%d,"cut":%d,"seconds":%s,"results":[\n' "$part" "$1" \
        "$(count_of passed)" "$(count_of failed)" "$(count_of skipped)" "$(count_of cut)" \
        "$(as_seconds $(($(now) - part_begin)))"
    sed '$!s/$/,/' "$results"
    printf ']}\n'
}

# Writes the summary; the status of gpu_run.sh.
records_close() {
    local word=passed status=0
    [ "$closed" = false ] || return 0
    closed=true
    # shellcheck disable=SC2046
    [ -z "$(jobs -rp)" ] || kill $(jobs -rp)
    wait
    keep_logs
    if [ "$(count_of failed)" != 0 ]; then
        word=FAILED status=1
    elif [ "$(count_of cut)" != 0 ]; then
        word="passed as far as it went" status=2
    fi
    summary "$word" >"$out/part$part.txt"
    summary_json "$word" >"$out/part$part.json"
    printf '\n'
    cat "$out/part$part.txt"
    rm -rf "$work"
    return "$status"
}
