// Names of topics, and the beginning of those of the worker's subscriptions.
export const jobsTopic = process.env.WORKER_JOBS_TOPIC || 'worker-jobs';
export const controlTopic = process.env.WORKER_CONTROL_TOPIC || 'worker-control';
export const resultsTopic = process.env.WORKER_RESULTS_TOPIC || 'worker-results';
export const subscriptionPrefix = process.env.WORKER_SUBSCRIPTION_PREFIX || 'worker-';
