// Package burn uses CPU time of real threads, for servers that play the work of others. It needs
// Linux.
package burn
