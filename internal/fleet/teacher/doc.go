// Package teacher is a teacher that goes on learning while its students are at work
// elsewhere: a living school at the teacher's end of a fleet. What students did and
// what the whole application looked like comes up the stream; the teacher learns from
// it, is examined in its simulated world, and when it has gained it teaches its
// students anew and publishes their weights. When the notifier calls, everybody goes
// back to stage 1 in the simulated world, with the mix of requests that is lived
// with: a teacher explores by doing what it believes to be wrong, and nobody's users
// are there for that.
//
// What was learned and what was counted are one file, written before anything is
// acknowledged: killed at any moment, nothing is counted twice and nothing that was
// acknowledged is lost.
//
// Reading order: config.go, class.go (opening and the loop), learn.go (what becomes
// of what comes up), teach.go (long work and publishing), state.go (the file),
// record.go (what is told).
package teacher
