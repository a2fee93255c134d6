import t, { type Test } from 'tap'
import { runSteps } from '../../../core/chain.ts'
import { createDisposer } from '../../../lib/async/disposer.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { openPipeline, type Pipeline } from '../../../platform/gateway/pipeline.ts'
import { planPlugins } from '../../../platform/plugins/plan.ts'
import { createLog } from '../../../platform/process/log.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { TestExchange } from '../../../sdk/testing.ts'
import { createPools, makeService } from '../../fixtures/services.ts'

async function open(t: Test, ...args: readonly string[]) {
  const configuration = await configurationFrom(readFlags([...args], 'api'), {})()
  const closing = createDisposer()
  t.teardown(closing.close)
  const { createPool } = createPools()
  const deciding = await openPipeline(
    {
      ...{ configuration, events: {}, authorizer: undefined, log: createLog('silent') },
      upstream: () => ({ createPool }),
    },
    closing,
  )
  await deciding.routing.ready
  return { configuration, closing, deciding }
}

/** Service of a path after the steps before the handler, empty if no service matches. */
async function resolveService(
  { deciding, configuration }: Awaited<ReturnType<typeof open>>,
  path: string,
) {
  const chain = await deciding.buildChain(configuration, planPlugins(configuration))
  const x = new TestExchange({ path })
  x.begin(
    chain,
    () => {},
    () => {},
  )
  try {
    await runSteps(chain.steps.slice(0, -1), x)
  } catch {
    return ''
  }
  return `${x.handler?.name} ${x.route?.service}`
}

const BACKEND = ['--backend', 'greeter=127.0.0.1:9001']

t.test('routes a request to a configured service with the configured handler', async (t) => {
  for (const handler of ['proxy', 'web', 'rpc', 'api'])
    t.equal(
      await resolveService(await open(t, ...BACKEND, `--handler=${handler}`), '/greeter/hello'),
      `${handler} go.mx.api.greeter`,
    )
  t.equal(
    await resolveService(await open(t, ...BACKEND), '/greeter/hello'),
    'rpc go.mx.api.greeter',
  )
  t.equal(await resolveService(await open(t, ...BACKEND), '/unknown/hello'), '')
})

t.test('replaces the configured services', async (t) => {
  const opened = await open(t, ...BACKEND, '--handler=proxy')
  const { deciding }: { deciding: Pipeline } = opened
  deciding.replace([makeService('go.mx.api.mail', ['127.0.0.1:9002'])])
  deciding.routing.reconfigure(['go.mx.api.greeter', 'go.mx.api.mail'])
  t.equal(await resolveService(opened, '/mail/send'), 'proxy go.mx.api.mail')
  t.equal(await resolveService(opened, '/greeter/hello'), '')
})

t.test('closes opened resources exactly once', async (t) => {
  const { closing } = await open(t, ...BACKEND)
  await closing.close()
  await closing.close()
})
