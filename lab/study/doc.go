// Package study compares settings of agents: it trains one agent for each cell
// of a grid and each seed ([Run], study.go), several at a time, and says how they
// did (report.go). The agents it knows are in agents.go; tasks.go lists small
// environments with known answers, to check agents and to try settings on.
package study
