import t from 'tap'
import { GatewayError } from '../../core/errors.ts'
import { isStopping } from '../../core/is-stopping.ts'

t.test('isStopping finds a stopping service in an error and in its causes', (t) => {
  const stopping = new GatewayError('auth', 503, 'the auth service is stopping')
  t.equal(isStopping(stopping), true)
  t.equal(isStopping(new Error('the registry is unavailable', { cause: stopping })), true)
  t.equal(isStopping(new GatewayError('auth', 502, 'bad gateway', { cause: 'reset' })), false)
  for (const other of [undefined, 'text', new Error('gone')]) t.equal(isStopping(other), false)
  t.end()
})
