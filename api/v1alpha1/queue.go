package v1alpha1

// QueueType is what exports the metrics of a queue.
//
// +kubebuilder:validation:Enum=Kafka;RabbitMQ;SQS
type QueueType string

const (
	Kafka    QueueType = "Kafka"    // kafka_exporter
	RabbitMQ QueueType = "RabbitMQ" // RabbitMQ's plugin for Prometheus
	SQS      QueueType = "SQS"      // an exporter of CloudWatch
)

// Queue is a queue from which the pods of a service take their work.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Kafka') == has(self.consumerGroup)",message="consumerGroup is required for Kafka, whose lag is that of a group, and belongs to no other type"
// +kubebuilder:validation:XValidation:rule="self.type == 'RabbitMQ' || !has(self.virtualHost)",message="virtualHost is RabbitMQ's: leave it out"
type Queue struct {
	// What exports its metrics: Kafka (kafka_exporter), RabbitMQ (its plugin for
	// Prometheus, by queue) or SQS (an exporter of CloudWatch).
	// +required
	Type QueueType `json:"type"`

	// The name of the topic or of the queue.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +kubebuilder:validation:Pattern=`^[^"\\$\n]+$`
	Name string `json:"name"`

	// The consumer group of Kafka whose lag it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +kubebuilder:validation:Pattern=`^[^"\\$\n]+$`
	ConsumerGroup string `json:"consumerGroup,omitempty"`

	// The virtual host of RabbitMQ. Left out, the queue's name is unique.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +kubebuilder:validation:Pattern=`^[^"\\$\n]+$`
	VirtualHost string `json:"virtualHost,omitempty"`
}
