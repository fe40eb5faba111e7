// The functions of the worker. Replace them by your own.
//
// A function receives the job and its checked parameters. It returns true or an object, or throws a Failure.
// It may be called again for a job that it has done: use job.effectId as the idempotency key of what it
// changes. It stops when the signal is aborted.
import * as badges from './badges.js';
import type { Parameter, WorkerFunction } from './contract.js';

const userId: Parameter = { name: 'UserId', description: 'Id of the user.', required: true };

export const functions: WorkerFunction[] = [
  {
    name: 'New-Badge',
    description: 'Orders a badge for a user.',
    parameters: [userId],
    result: [{ name: 'BadgeId', description: 'Id of the badge.' }],
    timeout: 60,
    call: async (job, { UserId }) => ({ BadgeId: await badges.order(job.effectId, UserId!) }),
  },
  {
    name: 'Test-BadgeIssued',
    description: 'Tells whether a user has a badge. Not complete until then.',
    parameters: [userId],
    result: [
      { name: 'complete', description: 'Whether the user has a badge.' },
      { name: 'data', description: 'BadgeId, the id of the badge.' },
    ],
    timeout: 60,
    call: async (_job, { UserId }) => {
      const badge = await badges.find(UserId!);
      return badge ? { complete: true, data: { BadgeId: badge } } : { complete: false, data: null }; // the step polls
    },
  },
];
