import t from 'tap'
import servicesCommand from '../../../../cli/commands/calls/services.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { run, mx } = await openCliServer(t)
const BUILT_IN = [
  'api',
  'auth',
  'broker',
  'config',
  'events',
  'network',
  'registry',
  'runtime',
  'store',
]

t.test('services lists the names of the namespace, one per line', async (t) => {
  t.same(await mx(['services']), { code: 0, stdout: `${BUILT_IN.join('\n')}\n`, stderr: '' })
})

t.test('-o json prints complete registry entries', async (t) => {
  const services = JSON.parse(await run(servicesCommand, '-o', 'json'))
  t.match(
    services,
    BUILT_IN.map((name) => ({ name, version: 'latest', nodes: [{}] })),
  )
})

t.test('an argument is rejected with a hint to mx registry get', async (t) => {
  await t.rejects(run(servicesCommand, 'auth'), {
    message: /'mx registry get auth' shows one service/,
    status: 2,
  })
})
