// Package report makes one HTML file of a bench directory. The file needs
// nothing else: no server, no network, no second file.
//
// What is computed is computed here and tested here: distributions, fronts,
// verdicts. The page (sources in web/) only draws. It gets a summary as JSON
// and, for each run and each scene, a packed chunk that it opens on
// demand.
//
// The built page is committed in assets, so that building the program needs no
// Node: `npm ci && npm run build` in web/ makes it anew, byte for byte.
package report
