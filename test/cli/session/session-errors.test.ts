import t from 'tap'
import { openSession } from '../../../cli/session/session.ts'
import { openCli } from '../../fixtures/cli.ts'

await openCli(t)
const session = openSession({})
t.teardown(session.close)
const UNKNOWN = { resource: { service: { name: 'mail', version: 'latest' } } }

t.test('an unknown service exits 4 with its name', async (t) => {
  await t.rejects(session.call('missing', 'Missing.Call', {}), {
    message: 'Service "missing" not found. See \'mx services\'',
    status: 4,
  })
  await t.rejects(session.stream('missing', 'Missing.Call', {}).next(), {
    message: 'Service "missing" not found. See \'mx services\'',
    status: 4,
  })
})

t.test('an unknown endpoint exits 5 with its name', async (t) => {
  await t.rejects(session.call('runtime', 'Runtime.Raed', {}), {
    message: 'Service method "Runtime.Raed" not found. See \'mx runtime --help\'',
    status: 5,
  })
})

t.test('a 404 from a service itself exits 127 with the message of the service', async (t) => {
  await t.rejects(session.call('runtime', 'Runtime.Delete', UNKNOWN), {
    message: 'service not found: mail@latest',
    status: 127,
  })
  await t.rejects(session.stream('runtime', 'Runtime.Logs', { service: 'mail' }).next(), {
    message: 'service not found: mail@latest',
    status: 127,
  })
})

t.test('an unreachable server exits 4 with its address', async (t) => {
  process.env['MX_ENV_LOCAL_ADDRESS'] = '127.0.0.1:1'
  const disconnected = openSession({})
  t.teardown(disconnected.close)
  await t.rejects(disconnected.stream('runtime', 'Runtime.Watch', {}).next(), {
    message:
      "Failed to connect to mx server at 127.0.0.1:1: start it with 'mx server', or, if it uses another --proxy_address, run 'mx env add local <host:port>'",
    status: 4,
  })
})

t.test('an error thrown by the request source is the error of the call', async (t) => {
  async function* requests() {
    yield { service: { name: 'mail', version: 'latest' }, data: '' }
    throw new Error('a file is gone')
  }
  await t.rejects(session.stream('runtime', 'Source.Upload', requests()).next(), {
    message: 'a file is gone',
  })
})
