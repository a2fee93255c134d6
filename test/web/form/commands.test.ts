import { execFileSync } from 'node:child_process'
import t from 'tap'
import {
  maskCall,
  needsFile,
  type ShellCall,
  toCurlCommand,
  toMxCommand,
} from '../../../web/form/commands.ts'
import { toField } from '../../../web/form/field.ts'

const CALL: ShellCall = {
  ...{ namespace: '', service: 'helloworld', metadata: [] },
  endpoint: { name: 'Helloworld.Call', metadata: {} },
  requests: [{ name: 'John' }],
}
const GATEWAY = 'http://localhost:8080/'

/** Words of a command as parsed by a shell. */
function listWords(command: string): readonly string[] {
  const program = 'printf "%s\\0" "$@"'
  const output = execFileSync('sh', ['-c', `mx() { echo t; }; set -- ${command}; ${program}`], {
    encoding: 'utf8',
  })
  return output.split('\0').slice(0, -1)
}

t.test('formats a call as mx and curl commands', (t) => {
  t.equal(toMxCommand(CALL), `mx call helloworld Helloworld.Call '{"name":"John"}'`)
  t.equal(
    toCurlCommand(GATEWAY, CALL),
    `curl http://localhost:8080/helloworld/call -H 'Content-Type: application/json' -H "Authorization: Bearer $(mx user token)" --data-binary '{"name":"John"}'`,
  )
  t.end()
})

t.test('quotes any request as one shell word', (t) => {
  const name = `'"$(id)\`id\`\n\\ $HOME ! ; |`
  const call = { ...CALL, requests: [{ name }], metadata: [['x-note', name]] as const }
  const mx = listWords(toMxCommand(call))
  t.same(JSON.parse(mx.at(-1)!), { name })
  t.equal(mx[2], `--metadata=x-note=${name}`)
  const curl = listWords(toCurlCommand(GATEWAY, call)!)
  t.same(JSON.parse(curl.at(-1)!), { name })
  t.ok(curl.includes(`x-note: ${name}`))
  t.ok(curl.includes('Authorization: Bearer t'))
  t.end()
})

t.test('includes namespace, metadata and timeout', (t) => {
  const call = { ...CALL, namespace: 'shop', metadata: [['x-a', '1']] as const, timeoutMs: 500 }
  t.match(
    toMxCommand(call),
    'mx call --namespace=shop --metadata=x-a=1 --request_timeout=500ms helloworld',
  )
  t.match(toCurlCommand(GATEWAY, call), `-H 'Mx-Namespace: shop' -H 'x-a: 1'`)
  t.end()
})

t.test('streams several requests from standard input; curl has no equivalent', (t) => {
  const endpoint = { name: 'Helloworld.Stream', metadata: { stream: 'true' } }
  t.equal(
    toMxCommand({ ...CALL, endpoint, requests: [{ a: 1 }, { a: 2 }] }),
    `printf '%s\\n' '{"a":1}' '{"a":2}' | mx stream helloworld Helloworld.Stream -`,
  )
  t.equal(toCurlCommand(GATEWAY, { ...CALL, endpoint, requests: [1, 2] }), undefined)
  t.match(toCurlCommand(GATEWAY, { ...CALL, endpoint }), /^curl -N /)
  t.end()
})

t.test('uses a declared route: variables from the request, and the rest in the query', (t) => {
  const of = (metadata: Record<string, string>, request: unknown) =>
    listWords(
      toCurlCommand(GATEWAY, {
        ...CALL,
        endpoint: { name: 'Items.Get', metadata },
        requests: [request],
      })!,
    )
  const request = { id: 'a/b', filter: { open: true }, tag: ['x', 'y'] }
  t.same(of({ path: '/items/{id}', method: 'GET' }, request).slice(0, 2), [
    'curl',
    'http://localhost:8080/items/a%2Fb?filter.open=true&tag=x&tag=y',
  ])
  t.same(of({ path: '/items/{id}', method: 'DELETE' }, { id: 1 }).slice(0, 4), [
    ...['curl', '-X', 'DELETE', 'http://localhost:8080/items/1'],
  ])
  const put = of({ path: '/items/{id}', method: 'PUT' }, { id: 1, count: 2 })
  t.equal(put.at(-1), '{"count":2}')
  t.match(of({ path: '/items/{id}' }, {})[1], '/items/{id}')
  t.end()
})

t.test('reads a request that is too long for the command line from a file', (t) => {
  const requests = [{ data: 'x'.repeat(5000) }]
  t.equal(needsFile(requests), true)
  t.match(toMxCommand({ ...CALL, requests }), / @request.json$/)
  t.match(toCurlCommand(GATEWAY, { ...CALL, requests }), / --data-binary @request.json$/)
  t.equal(needsFile(CALL.requests), false)
  t.end()
})

t.test('masks secrets of requests and metadata', (t) => {
  const field = toField({
    type: 'object',
    properties: { pin: { type: 'string', writeOnly: true }, id: { type: 'string' } },
  })
  const call = maskCall(field, {
    ...CALL,
    endpoint: { name: 'Items.Get', metadata: { path: '/items/{pin}' } },
    requests: [{ pin: 'S', id: 'x' }],
    metadata: [
      ['x-note', 'n'],
      ['x-api-key', 'S'],
      ['authorization', 'S'],
    ],
  })
  const mx = listWords(toMxCommand(call))
  t.same(JSON.parse(mx.at(-1)!), { pin: '********', id: 'x' })
  t.same(mx.slice(2, 5), [
    '--metadata=x-note=n',
    '--metadata=x-api-key=********',
    '--metadata=authorization=********',
  ])
  t.match(toCurlCommand(GATEWAY, call), '/items/********')
  t.end()
})
