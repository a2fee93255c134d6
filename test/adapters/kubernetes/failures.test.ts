import t from 'tap'
import { explain, toRetryMs } from '../../../adapters/kubernetes/failures.ts'
import { ApiError } from '../../../adapters/kubernetes/request.ts'
import { isPermanent } from '../../../core/registry/errors.ts'

const SERVICES = { name: 'services', group: '' }

t.test('explains an error and keeps its cause', async (t) => {
  const cases: [unknown, string][] = [
    [new Error('connect ECONNREFUSED'), 'connect ECONNREFUSED'],
    ['odd', 'odd'],
    [new ApiError('503 busy', { status: 503 }), '503 busy'],
    [new ApiError('401 no', { status: 401 }), 'the credentials were rejected (401 no)'],
    [
      new ApiError('403 no', { status: 403 }),
      'access denied; grant the verbs get, list and watch on services in the core API group "" with a Role and a RoleBinding (403 no)',
    ],
  ]
  for (const [error, message] of cases) {
    const reason = explain(error, SERVICES)
    t.equal(reason.message, `cannot watch Kubernetes services: ${message}`)
    if (error instanceof Error) t.equal(reason.cause, error)
  }
})

t.test('marks 401 and 403 as denials and everything else as an outage', async (t) => {
  for (const status of [401, 403])
    t.equal(isPermanent(explain(new ApiError('no', { status }), SERVICES)), true)
  for (const error of [
    new ApiError('503 busy', { status: 503 }),
    new Error('connect ECONNREFUSED'),
  ])
    t.equal(isPermanent(explain(error, SERVICES)), false)
})

t.test('names the operation and the required verbs', async (t) => {
  const attempt = { verb: 'apply', verbs: 'create and patch' }
  const denied = new ApiError('403 no', { status: 403 })
  t.equal(
    explain(denied, { name: 'deployments', group: 'apps' }, attempt).message,
    'cannot apply Kubernetes deployments: access denied; grant the verbs create and patch on deployments in the API group apps with a Role and a RoleBinding (403 no)',
  )
})

t.test('doubles the retry delay up to 10 s, but honors Retry-After', async (t) => {
  const toDelays = (failures: number, error?: Error): number[] =>
    Array.from({ length: 200 }, () => toRetryMs(error, failures, 250))
  for (const [failures, longestMs] of [
    [0, 250],
    [1, 500],
    [5, 8000],
    [7, 10_000],
    [5000, 10_000],
  ] as const) {
    const times = toDelays(failures)
    t.ok(
      times.every((ms) => ms >= longestMs / 2 && ms <= longestMs),
      `${failures} failures`,
    )
    t.ok(new Set(times).size > 100, 'jittered')
  }
  const busy = new ApiError('429', { status: 429, retryAfterMs: 60_000 })
  t.ok(toDelays(0, busy).every((ms) => ms === 60_000))
})
