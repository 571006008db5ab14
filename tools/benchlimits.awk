# Reads the output of `go test -bench` and prints the measurements whose limit is known:
# each as a share of its limit, and whether it is met. A benchmark names the limit by the
# unit that it reports (b.ReportMetric).
#
#   of-asked     speed as a multiple of the speed that is required: at least 1
#   %-of-limit   time as a percentage of the time allowed: at most 100
#   of-500MB     memory as a share of 500 MB: at most 1
#   peak-GiB     memory of the large training run: at most 2 GB
#   %core        percentage of one core that is used: no limit
#   %peak        arithmetic speed as a percentage of the processor's measured peak: no limit
#   allocs/event allocations of one event: at most 0.01
BEGIN {
	least["of-asked"] = 1
	most["%-of-limit"] = 100; most["of-500MB"] = 1; most["peak-GiB"] = 1.86; most["allocs/event"] = 0.01
	shown["%peak"] = 1; shown["%core"] = 1
}
/^pkg:/ { n = split($2, part, "/"); package = part[n] }
/^Benchmark/ {
	name = $1
	sub(/-[0-9]+$/, "", name)
	sub(/^Benchmark/, "", name)
	for (i = 4; i <= NF; i += 2) collect($(i - 1) + 0, $i) # name, iterations, then pairs of value and unit
}
function collect(value, unit) {
	if (unit in least) row(value, unit, ">= " least[unit], value >= least[unit] ? "met" : "NOT MET")
	else if (unit in most) row(value, unit, "<= " most[unit], value <= most[unit] ? "met" : "NOT MET")
	else if (unit in shown) row(value, unit, "-", "")
}
function row(value, unit, limit, verdict) {
	if (!rows++) {
		print ""
		printf "%-58s %12s  %-12s %-8s %s\n", "MEASURED", "VALUE", "UNIT", "LIMIT", ""
	}
	printf "%-58s %12.4g  %-12s %-8s %s\n", package "." name, value, unit, limit, verdict
}
END { if (!rows) print "no benchmark reported a value with a known limit" }
