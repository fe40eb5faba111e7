package model

// ReasonCancelled is the reason of what ends because its batch is cancelled.
const ReasonCancelled = "the batch is cancelled"

// ReasonRemoved is the reason of what ends because its member was removed.
const ReasonRemoved = "the member was removed"

// ReasonEnded is why the checks of a batch that has ended are cancelled.
const ReasonEnded = "the batch has ended"
