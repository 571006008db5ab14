// Package teacher runs the teacher of a fleet. It reads the experience that students
// publish, learns from it, evaluates what it has learned in a simulated application and
// publishes the students' weights when the teacher has improved. When the notifier
// detects a change, it trains again in the simulated application with the observed
// request mix: exploration never happens in the users' cluster.
//
// What was learned and what was counted are one file, written before anything is
// acknowledged. A process that is killed at any moment counts nothing twice and loses
// nothing that was acknowledged.
//
// A Teacher works on one model until it fails or is stopped. A Supervisor keeps a
// teacher working: it opens or resumes the teacher, replaces its model, restarts it with
// back-off and reports its status. `loadline run` and `loadline teacher` use it alike.
//
// Reading order: supervisor.go, config.go, teacher.go (opening and the loop), learn.go
// (from experience to training), publish.go (training and publishing), state.go (the
// file), status.go and event.go (what is reported).
package teacher
