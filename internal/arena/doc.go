// Package arena is a whole application in the fluid engine, as a policy sees it, in
// episodes: where agents that decide for all services practise. Each episode begins
// at a random instant of the load, with random replicas and, for those who change
// sizes, random sizes; what is seen is as uncertain as what is measured.
//
// Reading order: arena.go (deciding and seeing), begin.go (how an episode begins),
// sizes.go (with which instances), blur.go (chance in what is measured), almanac.go
// and recall.go (what forecasters would have said), record.go (what is told of it).
package arena
