import t from 'tap'
import { createReconnect } from '../../../cli/session/reconnect.ts'
import { badGateway, notFound, unavailable } from '../../../sdk/errors.ts'
import { waitForValue } from '../../fixtures/becomes.ts'
import { openDeployer } from '../../fixtures/deployer.ts'
import { runMx, startMx } from '../../fixtures/mx.ts'
import { openClient } from '../../fixtures/sdk-services.ts'
import { type ServerProcess, startServerProcess } from '../../fixtures/server-process.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const CONNECTION_LOST = badGateway('go.mx.proxy', 'the RPC proxy closed the connection')

t.test('retries transient errors of an open stream, and no others', async (t) => {
  const written = t.capture(process.stderr, 'write', () => true)
  const reconnect = createReconnect('h:1')
  t.equal(await reconnect.waitAfter(CONNECTION_LOST), false, 'the stream was never open')
  reconnect.onOpen()
  t.equal(await reconnect.waitAfter(notFound('orders', 'not found')), false)
  t.same(written(), [])
  t.equal(await reconnect.waitAfter(CONNECTION_LOST), true)
  t.equal(await reconnect.waitAfter(unavailable('events', 'the server is starting')), true)
  reconnect.onOpen()
  t.same(
    written().map(({ args }) => args[0]),
    [
      'mx: stream interrupted: the RPC proxy closed the connection; reconnecting to h:1\n',
      'mx: reconnected to h:1\n',
    ],
    'one line each for any number of attempts',
  )
})

t.test('the stop signal ends the wait, and later losses are not retried', async (t) => {
  t.capture(process.stderr, 'write', () => true)
  const stop = new AbortController()
  const reconnect = createReconnect('h:1', stop.signal)
  reconnect.onOpen()
  const pending = reconnect.waitAfter(CONNECTION_LOST)
  stop.abort()
  t.equal(await pending, true)
  reconnect.onOpen()
  t.equal(await reconnect.waitAfter(CONNECTION_LOST), false)
})

t.test('followers reconnect after restarts of the server', async (t) => {
  const home = makeTempFolder(t, 'home')
  let server = await startServerProcess(t, [], { home })
  const { proxy } = server
  const options = { cwd: home, env: { HOME: home, MX_ENV_LOCAL_ADDRESS: proxy } }
  const toClient = ({ token }: ServerProcess) => openClient(t, { proxy, token })
  let client = toClient(server)
  const main = `
require('node:http').createServer((q, r) => r.end('up')).listen(process.env.PORT, '127.0.0.1')
console.log('started by', process.ppid)`
  const files = { 'main.cjs': main, 'mx.yaml': 'command: node main.cjs\nprotocol: http\n' }
  const deployer = openDeployer(t, client)
  await deployer.create('shop', files)
  await deployer.settled('shop')
  const password = `--password=${server.auth.secret}`
  t.match(await runMx(['login', 'admin', password], options), { code: 0 })

  const start = (...words: string[]) => {
    const mx = startMx(words, options)
    t.teardown(async () => {
      mx.child.kill('SIGKILL')
      await mx.ended
    })
    return mx
  }
  const logs = start('logs', '-f', 'shop')
  const consumer = start('events', 'consume', 'orders', '--group=billing')
  const subscriber = start('broker', 'subscribe', 'news')
  const countLogs = async () => logs.output.stdout.match(/started by/g)?.length ?? 0
  const hasText = (text: string) => () =>
    [consumer, subscriber].every(({ output }) => output.stdout.includes(text))
  const publish = async (text: string) => {
    const body = Buffer.from(text).toString('base64')
    await client.call('events', 'Stream.Publish', { topic: 'orders', payload: body })
    const message = { header: {}, body }
    await client.call('broker', 'Broker.Publish', { topic: 'news', message })
    return hasText(text)()
  }
  await waitForValue(t, () => publish('first'), true)
  await waitForValue(t, countLogs, 1)

  for (const [signal, text, starts] of [
    ['SIGKILL', 'second', 2],
    ['SIGTERM', 'third', 3],
  ] as const) {
    server.child.kill(signal)
    await server.ended
    server = await startServerProcess(t, [`--proxy_address=${proxy}`], { home })
    client = toClient(server)
    await waitForValue(t, () => publish(text), true)
    await waitForValue(t, countLogs, starts)
    for (const { output } of [logs, consumer, subscriber])
      t.match(output.stderr, /^mx: stream interrupted: .*\n(.*\n)*mx: reconnected to 127/m, signal)
  }
  t.equal(await countLogs(), 3, 'no line is repeated')

  server.child.kill('SIGKILL')
  await waitForValue(t, async () => consumer.output.stderr.match(/interrupted/g)?.length, 3)
  consumer.child.kill('SIGINT')
  t.equal(await consumer.ended, 0, 'Ctrl-C ends the command during a reconnect')
})
