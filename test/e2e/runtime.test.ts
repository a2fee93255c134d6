import t, { type Test } from 'tap'
import { makeGreeter, openDeployer } from '../fixtures/deployer.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { startServerProcess } from '../fixtures/server-process.ts'

t.jobs = 2

async function open(t: Test) {
  const server = await startServerProcess(t)
  const deployer = openDeployer(t, openClient(t, { proxy: server.proxy, token: server.token }))
  const sendRequest = async (path: string) => {
    const reply = await fetch(`${server.gateway}/${path}`)
    return { status: reply.status, body: (await reply.json()) as Record<string, string> }
  }
  return {
    server,
    deployer,
    sendRequest,
    answer: async () => (await sendRequest('greeter/call')).body['answer'],
  }
}

t.test('uploads, builds, runs, calls, updates under load and kills a service', async (t) => {
  const { deployer, sendRequest } = await open(t)
  await deployer.create('greeter', makeGreeter('one'))
  const states: number[] = []
  for await (const { status } of deployer.follow('greeter'))
    if (states.at(-1) !== status) states.push(status)
  t.equal(states.at(-1), 4)
  t.ok(states.every((status) => status >= 1 && status <= 4))
  t.match(await sendRequest('greeter/call'), { status: 200, body: { answer: 'one' } })

  let hasEnded = false
  const invalid: unknown[] = []
  const revisions = new Set<unknown>()
  const load = Array.from({ length: 2 }, async () => {
    while (!hasEnded) {
      const { status, body } = await sendRequest('greeter/call')
      if (status === 200) revisions.add(body['answer'])
      else invalid.push(body)
    }
  })
  for (const answer of ['two', 'three']) {
    await deployer.update('greeter', makeGreeter(answer))
    t.match(await deployer.settled('greeter'), { status: 4 })
    t.match(await sendRequest('greeter/call'), { body: { answer } })
  }
  hasEnded = true
  await Promise.all(load)
  t.same(invalid, [], 'no call failed')
  t.same([...revisions].sort(), ['one', 'three', 'two'])

  await deployer.call('Update', 'greeter', { rollback: true })
  t.match(await deployer.settled('greeter'), { status: 4 })
  t.match(await sendRequest('greeter/call'), { body: { answer: 'two' } })

  await deployer.call('Delete', 'greeter')
  t.same(await deployer.read(), [])
  t.match(await sendRequest('greeter/call'), { status: 404 })
})

t.test(
  'a failed build or instance keeps the current revision running and reports the cause',
  async (t) => {
    const { deployer, answer } = await open(t)
    await deployer.create('greeter', makeGreeter('one'))
    await deployer.settled('greeter')
    await deployer.update('greeter', {
      'mx.yaml': 'build: echo no luck && exit 3\ncommand: node a.js',
    })
    t.match(await deployer.settled('greeter'), { status: 4, metadata: { error: /no luck/ } })
    t.match(await deployer.output('greeter'), /no luck/)
    t.equal(await answer(), 'one')
    await deployer.update('greeter', { 'main.js': 'console.log("I give up"); process.exit(7)' })
    t.match(await deployer.settled('greeter'), {
      status: 4,
      metadata: { error: /7[\s\S]*I give up/ },
    })
    t.equal(await answer(), 'one')
    await deployer.update('greeter', makeGreeter('two'))
    const { status, metadata } = await deployer.settled('greeter')
    t.match({ status, error: metadata['error'] }, { status: 4, error: undefined })
    t.equal(await answer(), 'two')
  },
)
