# Reads the output of `make fuzz` and prints how many inputs each target was run with. A target with
# fewer than 1,000 is marked: it is slow, or its inputs are too large. With fewer than 100 it was
# hardly fuzzed, and awk fails; even a busy machine makes more in FUZZTIME.
BEGIN { warn = 1000; least = 100 }
/^target: / { name = $2 " " $3; names[++targets] = name; execs[name] = 0 }
/^fuzz: elapsed: .*execs: / {
	for (i = 1; i < NF; i++) if ($i == "execs:") execs[name] = $(i + 1) + 0
}
END {
	if (!targets) { print "no target was fuzzed"; exit 1 }
	printf "\n%-60s %10s\n", "FUZZED", "INPUTS"
	for (n = 1; n <= targets; n++) {
		name = names[n]
		verdict = execs[name] < least ? "TOO FEW, at least " least : execs[name] < warn ? "few" : ""
		if (execs[name] < least) failed++
		printf "%-60s %10d  %s\n", name, execs[name], verdict
	}
	if (failed) {
		printf "%d of %d targets were hardly fuzzed: make their inputs smaller or their set-up cheaper, or raise FUZZTIME\n", failed, targets
		exit 1
	}
}
