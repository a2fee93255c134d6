// Checks with random configurations and requests that the gateway does what `explain` predicts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Registry } from '../../../../core/contracts/registry.ts'
import { createDisposer } from '../../../../lib/async/disposer.ts'
import { openExplainer } from '../../../../platform/gateway/routing/explain.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { openConfiguredGateway } from '../../../fixtures/configured-gateway.ts'
import { type Backends, openBackends } from '../../../fixtures/oracle/backends.ts'
import {
  anyConfiguration,
  FILES,
  FOLDER,
  type OracleConfiguration,
} from '../../../fixtures/oracle/configurations.ts'
import {
  type AccessLine,
  findDifferences,
  type ServedRequest,
} from '../../../fixtures/oracle/differences.ts'
import { anyRequest, type OracleRequest } from '../../../fixtures/oracle/requests.ts'
import { SEED, scaleRuns } from '../../../fixtures/property-runs.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const REQUESTS = 200
/** `MX_PROPERTY_RUNS=10` compares 100 000 requests. */
const CONFIGURATIONS = scaleRuns(50)
/** Number of differences to print. */
const MAX_PRINTED = 5

/** Predicts and sends requests, one at a time. */
async function serve(
  configuration: OracleConfiguration,
  requests: readonly OracleRequest[],
  { drainReceived }: Backends,
  folder: string,
): Promise<readonly ServedRequest[]> {
  const { handler, listener } = configuration
  const text = configuration.text.replaceAll(FOLDER, folder)
  const closing = createDisposer()
  t.teardown(closing.close)
  const registry: Registry = createMemoryRegistry()
  for (const service of configuration.registered) await registry.register!(service)
  const log = createLog('silent')
  const options = { handler, listener, registry, files: FILES, folder, log }
  const gateway = await openConfiguredGateway({ teardown: closing.add }, text, options)
  const parts = { configuration: gateway.configuration, authorizer: undefined, registry, log }
  const explain = await openExplainer(parts, closing)
  const served: Omit<ServedRequest, 'line'>[] = []
  for (const request of requests) {
    const predicted = await explain(request)
    const { method, path, headers, body } = request
    drainReceived()
    const response = await gateway.send(method, path, headers, body, request.listener)
    served.push({ request, predicted, response, received: drainReceived() })
  }
  await closing.close()
  const lines = readFileSync(join(folder, 'access.log'), 'utf8').trim().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as AccessLine)
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  return served.map((each) => {
    return { ...each, line: byId.get(String(each.response.headers['x-request-id'])) }
  })
}

t.test('the gateway handles every request as explain predicts', async (t) => {
  const backends = await openBackends(t)
  const configurations = fc.sample(anyConfiguration(backends), {
    ...{ seed: SEED, numRuns: CONFIGURATIONS },
  })
  const requests = fc.sample(anyRequest, { seed: SEED, numRuns: CONFIGURATIONS * REQUESTS })
  t.comment(`seed ${SEED}`)
  const counts = { forwarded: 0, routed: 0, answered: 0, different: 0 }
  for (const [i, configuration] of configurations.entries()) {
    const sent = requests.slice(i * REQUESTS, (i + 1) * REQUESTS)
    const folder = makeTempFolder(t, 'oracle')
    for (const served of await serve(configuration, sent, backends, folder)) {
      const { predicted, request, response, received, line } = served
      if (predicted.sentTo === undefined) counts.answered++
      else counts.forwarded++
      if (predicted.routeName !== undefined) counts.routed++
      const differences = findDifferences(served, configuration)
      if (differences.length === 0) continue
      if (counts.different++ >= MAX_PRINTED) continue
      const { status, text } = response
      const { text: file, handler } = configuration
      t.fail(`${request.method} ${request.path}: ${differences.join(', ')}`, {
        ...{ request, predicted, status, text, received, line, handler, file },
      })
    }
  }
  t.equal(counts.different, 0, JSON.stringify(counts))
  const least = (CONFIGURATIONS * REQUESTS) / 50
  t.ok(Math.min(counts.forwarded, counts.routed) > least, JSON.stringify(counts))
})
