import t from 'tap'
import { findEndpoint, toWords } from '../../../cli/dynamic/match-endpoint.ts'
import type { Endpoint } from '../../../core/contracts/registry.ts'

const NO_VALUE = { name: '', type: '', values: [] }
const endpoints: readonly Endpoint[] = [
  ...['Helloworld.Call', 'Helloworld.ListAll', 'Mirror.Show', 'Mirror.Call', 'A.Both', 'B.Both'],
].map((name) => ({ name, request: NO_VALUE, response: NO_VALUE, metadata: {} }))

const result: [service: string, args: string[], name: string][] = [
  ['helloworld', [], 'Helloworld.Call'],
  ['helloworld', ['call'], 'Helloworld.Call'],
  ['helloworld', ['list-all'], 'Helloworld.ListAll'],
  ['helloworld', ['listAll'], 'Helloworld.ListAll'],
  ['helloworld', ['mirror', 'call'], 'Mirror.Call'],
  ['helloworld', ['Mirror.Call'], 'Mirror.Call'],
  ['helloworld', ['show'], 'Mirror.Show'],
  ['go.mx.hello-world', ['call'], 'Helloworld.Call'],
]
for (const [service, args, name] of result) {
  t.test(`mx ${service} ${args.join(' ')} calls ${name}`, async (t) => {
    t.equal(findEndpoint(service, endpoints, args).name, name)
  })
}

t.test('an unknown or ambiguous endpoint is rejected with the candidates', async (t) => {
  for (const [args, message, status] of [
    [['cal'], 'Endpoint Helloworld.Cal not found for service helloworld, did you mean call?', 5],
    [['mirror', 'shw'], /^Endpoint Mirror\.Shw not found .* did you mean mirror show\?/, 5],
    [
      ['call', 'John'],
      /not found for service helloworld: fields of call are flags\. See 'mx helloworld call --help'/,
      5,
    ],
    [['zzzzzz'], /not found for service helloworld\. See 'mx helloworld --help'/, 5],
    [['both'], 'helloworld has several endpoints both: choose a both or b both', 2],
    [['a', 'b', 'c'], /^Incorrect number of arguments/, 2],
  ] as const)
    t.throws(() => findEndpoint('helloworld', endpoints, args), { message, status })
})

t.test('a misspelled subcommand of a built-in command is rejected with a suggestion', async (t) => {
  t.throws(() => findEndpoint('config', [], ['gte', 'a']), {
    message: 'Endpoint Gte.A not found for service config, did you mean get?',
  })
})

t.test('the words of an endpoint omit the default handler of the service', async (t) => {
  t.same(
    endpoints.slice(0, 3).map((each) => toWords('helloworld', each)),
    ['call', 'listAll', 'mirror show'],
  )
})
