import t from 'tap'
import registryCommand from '../../../../cli/commands/platform/registry.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { run } = await openCliServer(t)

t.test('registry get shows versions, nodes and endpoints of a service', async (t) => {
  const text = await run(registryCommand, 'get', 'broker')
  t.match(
    text,
    /^service {2}broker\n\nversion latest\n\nID\t+Address\t+Metadata\nbroker-\S+\t127\.0\.0\.1:\d+\t+protocol=mx,/,
  )
  t.match(
    text,
    /\nEndpoint: Broker\.Publish\nMetadata: description=[^\n]+\nRequest: \{\n\ttopic string\n\tmessage \S+ \{\n\t\theader map\[string\]string\n/,
  )
  t.notMatch(text, /requestSchema/)
  t.match(JSON.parse(await run(registryCommand, 'get', 'broker', '-o', 'json')), [
    { name: 'broker', version: 'latest' },
  ])
})

t.test('an unknown service exits 4 with a hint', async (t) => {
  await t.rejects(run(registryCommand, 'get', 'missing'), {
    message: "Service not found: missing. See 'mx services'",
    status: 4,
  })
})
