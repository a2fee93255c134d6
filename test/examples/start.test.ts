import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '../..')

t.test('`npm start`: every command it prints works, and Ctrl-C ends it', async (t) => {
  const main = join(ROOT, 'examples/start.ts')
  const words = ['--import', import.meta.resolve('tsx'), main, '--address=127.0.0.1:0']
  const child = spawn(process.execPath, words, {
    cwd: t.testdir(),
    env: { ...process.env, TSX_TSCONFIG_PATH: join(ROOT, 'test/fixtures/tsconfig.sources.json') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  while (!output.includes('Ctrl-C ends it')) await once(child.stderr, 'data')
  const urls = [...output.matchAll(/curl (?:-i )?'?(http:[^\s']+)/g)].map(([, url]) => url!)
  const replies: { status: number; body: Record<string, unknown> }[] = []
  for (const url of urls) {
    const reply = await fetch(url)
    replies.push({ status: reply.status, body: (await reply.json()) as Record<string, unknown> })
  }
  t.match(replies, [
    { status: 200, body: { message: 'Hello John' } },
    { status: 200, body: { backend: 'one', url: '/greeter/hello' } },
    { status: 200, body: { backend: 'two', url: '/greeter/hello' } },
    {
      status: 200,
      body: { services: [{ name: 'greeter' }, { name: 'helloworld' }, { name: 'registry' }] },
    },
    { status: 404, body: { Detail: 'service not found: nobody' } },
  ])
  t.equal(replies.length, 5)
  t.match(output, /MX_REGISTRY=mx:\/\/127\.0\.0\.1:\d+ join/)
  child.kill('SIGINT')
  t.same(await once(child, 'close'), [0, null])
})
