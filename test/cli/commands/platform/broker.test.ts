import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import brokerCommand from '../../../../cli/commands/platform/broker.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { home, run, start } = await openCliServer(t)
const broker = (...args: string[]) => run(brokerCommand, ...args)

/** Publishes until the subscriber ends: its subscription starts at an unknown time. */
async function publishUntil(
  ended: Promise<unknown>,
  ...messages: readonly (readonly string[])[]
): Promise<void> {
  let hasEnded = false
  void ended.finally(() => {
    hasEnded = true
  })
  while (!hasEnded) {
    for (const args of messages) await broker('publish', ...args)
    await wait(50)
  }
}

t.test('subscribe prints published messages up to --limit', async (t) => {
  const { ended, output } = start('broker', 'subscribe', 'orders', '--queue=billing', '--limit=3')
  await publishUntil(ended, ['orders', '{"id":5}'])
  t.equal(await ended, 0)
  t.equal(output.stdout, '{"id":5}\n'.repeat(3))
  t.equal(output.stderr, '')
})

t.test('-o json prints headers and body of a message, a binary body in base64', async (t) => {
  writeFileSync(join(home, 'bytes'), Buffer.from([0xff, 0x00]))
  const args = ['images', '@bytes', '--header', 'X-From=me']
  const { ended, output } = start('broker', 'subscribe', 'images', '-l', '1', '-o', 'json')
  await publishUntil(ended, args)
  const message = JSON.parse(output.stdout)
  t.match(message, { body_base64: '/wA=', header: { 'x-from': 'me', 'mx-topic': 'mx.images' } })
  t.equal(message.header['content-type'], 'application/octet-stream')
})

t.test('Ctrl-C ends subscribe with status 0', async (t) => {
  const { child, ended, waitUntil } = start('broker', 'subscribe', 'ticks')
  const received = waitUntil(/tick/)
  await publishUntil(received, ['ticks', 'tick'])
  child.kill('SIGINT')
  t.equal(await ended, 0)
})

t.test('malformed arguments are rejected with the expected form', async (t) => {
  await t.rejects(broker('publish', 'orders'), {
    message: /^Too few arguments, expected 2 arguments: TOPIC MESSAGE/,
    status: 2,
  })
  await t.rejects(broker('publish', 'orders', 'x', '--header=y'), {
    message: '--header must be <name>=<value>, got y',
    status: 2,
  })
  await t.rejects(broker('publish', '', 'x'), { message: 'Missing topic', status: 127 })
  await t.rejects(broker('subscribe', 'orders', '-l', 'few'), {
    message: '--limit must be a whole number, got few',
    status: 2,
  })
})
