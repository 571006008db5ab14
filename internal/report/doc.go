// Package report makes one self-contained HTML file of a bench directory: no server, no
// network, no second file.
//
// All computation is done and tested here: distributions, fronts, verdicts. The page (sources
// in web/) only draws. It gets a summary as JSON and, for each run and each scenario, a packed
// chunk that it opens on demand.
//
// The built page is committed in assets, so that building the program needs no Node: `npm ci &&
// npm run build` in web/ builds it again, byte for byte.
package report
