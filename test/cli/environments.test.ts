import t from 'tap'
import { findEnvironment, listEnvironments } from '../../cli/environments.ts'
import { writeConfig } from '../../cli/state/config.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

process.env['HOME'] = makeTempFolder(t, 'home')
for (const name of Object.keys(process.env)) if (/^MX_ENV/.test(name)) delete process.env[name]

t.test(
  'local, dev and platform are built in; the last two have no address of their own',
  async (t) => {
    t.same(listEnvironments(), [
      { name: 'dev', address: '' },
      { name: 'local', address: '127.0.0.1:8081' },
      { name: 'platform', address: '' },
    ])
    t.same(findEnvironment(undefined), { name: 'local', address: '127.0.0.1:8081' })
  },
)

t.test('one without an address says how it gets one', async (t) => {
  t.throws(() => findEnvironment('dev'), {
    message:
      'Env "dev" has no address: add one with \'mx env add dev <host:port>\', or set MX_ENV_DEV_ADDRESS',
    status: 2,
  })
  process.env['MX_ENV_DEV_ADDRESS'] = 'dev.example.com'
  t.teardown(() => delete process.env['MX_ENV_DEV_ADDRESS'])
  t.same(findEnvironment('dev'), { name: 'dev', address: 'dev.example.com:443' })
})

t.test('an unknown one is refused, with one that may be meant', async (t) => {
  t.throws(() => findEnvironment('locla'), {
    message: 'Env "locla" not found, did you mean local? See `mx env` for available environments.',
    status: 2,
  })
})

t.test(
  'added ones are there; the flag goes before MX_ENV, and that before the selected one',
  async (t) => {
    await writeConfig('envs', JSON.stringify({ eu: '10.0.0.1:8081', us: '10.0.0.2:8081' }))
    await writeConfig('env', 'eu')
    t.same(findEnvironment(undefined).name, 'eu')
    process.env['MX_ENV'] = 'us'
    t.teardown(() => delete process.env['MX_ENV'])
    t.same(findEnvironment(undefined), { name: 'us', address: '10.0.0.2:8081' })
    t.same(findEnvironment('local').name, 'local')
  },
)
