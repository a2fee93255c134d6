import t from 'tap'
import {
  isMissing,
  isNameInUse,
  notPermitted,
  toFailure,
} from '../../../../adapters/events/jetstream/errors.ts'
import { GatewayError } from '../../../../core/errors.ts'

/** An error of the server as thrown by the library. */
const api = (code: number, status: number, message: string): Error =>
  Object.assign(new Error(message), { code, status })
/** A permission error of the library, plain and wrapped. */
const violation = Object.assign(new Error('Permissions Violation for Publish to "a"'), {
  name: 'PermissionViolationError',
})

t.test('distinguishes a full server, an outage and a denial', async (t) => {
  for (const [error, code] of [
    [api(10002, 400, 'resource limits exceeded for account'), 507],
    [api(10047, 500, 'insufficient storage resources available'), 507],
    [api(10077, 503, 'maximum bytes exceeded'), 507],
    [api(10077, 503, 'write: no space left on device'), 507],
    [api(10077, 503, 'store is closed'), 503],
    [api(10008, 503, 'JetStream system temporarily unavailable'), 503],
    [api(10065, 400, 'subjects overlap with an existing stream'), 500],
    [violation, 403],
    [new Error(violation.message, { cause: violation }), 403],
    [new Error('read ECONNRESET'), 503],
    ['thrown', 503],
  ] as const) {
    const failure = toFailure(error)
    t.equal(failure.code, code, String(error))
    t.equal(failure.id, 'events')
  }
})

t.test('keeps gateway errors and describes a denial', async (t) => {
  const error = new GatewayError('events', 413, 'too long')
  t.equal(toFailure(error), error)
  t.match(toFailure(violation).message, 'Publish to "a"')
  t.match(notPermitted('Subscription to "b"').message, 'denied by NATS: Subscription')
  t.match(toFailure(api(10065, 400, 'subjects overlap')).message, 'subjects overlap')
})

t.test('recognizes missing and existing names by code', async (t) => {
  for (const code of [10014, 10059]) t.ok(isMissing(api(code, 404, '')))
  for (const code of [10013, 10058, 10148]) t.ok(isNameInUse(api(code, 400, '')))
  for (const error of [new Error('stream not found'), api(10003, 400, ''), undefined]) {
    t.notOk(isMissing(error))
    t.notOk(isNameInUse(error))
  }
})
