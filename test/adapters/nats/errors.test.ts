import t from 'tap'
import { toConnectError, toPermissionError } from '../../../adapters/nats/errors.ts'
import { isPermanent } from '../../../core/registry/errors.ts'

t.test('marks errors that a reconnect does not resolve as denials', async (t) => {
  const withName = (name: string) => Object.assign(new Error('Authorization Violation'), { name })
  const withCode = (code: string) => Object.assign(new Error('no'), { code })
  const custom = toPermissionError('no')
  t.ok(isPermanent(custom))
  t.equal(toConnectError(custom), custom)
  for (const error of [
    withName('AuthorizationError'),
    withName('UserAuthenticationExpiredError'),
    withCode('DEPTH_ZERO_SELF_SIGNED_CERT'),
    withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    withCode('ERR_TLS_CERT_ALTNAME_INVALID'),
    withCode('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
  ])
    t.ok(isPermanent(toConnectError(error)), error.message)
  t.match(toConnectError(withName('AuthorizationError')), {
    message: 'authentication failed: Authorization Violation',
    cause: { name: 'AuthorizationError' },
  })
})

t.test('treats other errors as outages', async (t) => {
  const error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  t.equal(toConnectError(error), error)
  t.notOk(isPermanent(toConnectError(error)))
  t.match(toConnectError(undefined), { message: 'the connection was closed' })
  t.notOk(isPermanent(toConnectError(undefined)))
})
