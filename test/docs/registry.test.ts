import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { openClient } from '../fixtures/sdk-services.ts'

const GUIDE = readFileSync(join(ROOT, 'docs/registry-service.md'), 'utf8')
const PROGRAMS = [...GUIDE.matchAll(/```ts\n(import [\s\S]*?)```/g)].map(([, text]) => text!)
const [SERVER, READER] = ['createRegistryService', 'openRegistry'].map(
  (name) => PROGRAMS.find((text) => text.includes(name))!,
)

/** Runs a program of the guide, with another port. */
function run(t: Test, text: string, port: string): ChildProcess {
  const folder = t.testdir({ 'main.mts': text.replace('8081', port) })
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), 'main.mts'], {
    cwd: folder,
    env: {
      ...process.env,
      TSX_TSCONFIG_PATH: join(ROOT, 'test/fixtures/tsconfig.sources.json'),
    },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test(
  'the registry program of the guide serves, and SIGINT ends it immediately despite an open watch',
  async (t) => {
    const child = run(t, SERVER!, '0')
    const lines = createInterface(child.stderr!)[Symbol.asyncIterator]()
    const { msg, address } = JSON.parse((await lines.next()).value!) as Record<string, string>
    t.equal(msg, 'service ready')
    const client = openClient(t, { address: address! })
    const outcome = client
      .stream('registry', 'Registry.Watch', {})
      .next()
      .catch((error: Error) => error)
    // Follows the watch on the same connection: its response proves that the watch is served.
    await client.call('registry', 'Registry.ListServices', {})

    await t.test('the client program of the guide lists the registered services', async (t) => {
      const reader = run(t, READER!, address!.split(':')[1]!)
      let output = ''
      reader.stdout!.on('data', (chunk) => {
        output += chunk
      })
      const [code] = await once(reader, 'close')
      t.equal(output, 'registry latest\n')
      t.equal(code, 0)
    })

    const startMs = performance.now()
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    t.equal(code, 0)
    t.ok(performance.now() - startMs < 5000, 'calls in flight are not cancelled yet')
    t.match(await outcome, { code: 503 }, 'a watch ended by the server fails')
  },
)
