package v1alpha1

// FleetAnnotation on a LoadLine sets the name, within its namespace, of the fleet of
// its students and their teacher. By default it is that of the model's application.
const FleetAnnotation = "loadline.dev/fleet"

// AgentLabel on a LoadLine names the agent that manages it: a "loadline run" with
// the same --agent. Other processes ignore it.
const AgentLabel = "loadline.dev/agent"
