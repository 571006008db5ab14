package apps

import (
	"strconv"
	"time"
)

// formatCores writes cores so that they read back exactly: as millicores if these are whole.
func formatCores(cores float64) string {
	if milli := cores * 1000; cores < 1 && milli == float64(int64(milli)) && milli/1000 == cores {
		return strconv.FormatInt(int64(milli), 10) + "m"
	}
	return strconv.FormatFloat(cores, 'g', -1, 64)
}

// formatMemory writes bytes in the largest binary unit that divides them.
func formatMemory(bytes int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti"}
	i := 0
	for bytes != 0 && bytes%1024 == 0 && i < len(units)-1 {
		bytes, i = bytes/1024, i+1
	}
	return strconv.FormatInt(bytes, 10) + units[i]
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func formatDuration(d time.Duration) string { return d.String() }
