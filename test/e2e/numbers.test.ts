import { Readable } from 'node:stream'
import t from 'tap'
import callCommand from '../../cli/commands/calls/call.ts'
import streamCommand from '../../cli/commands/calls/stream.ts'
import { runDynamic } from '../../cli/dynamic.ts'
import { GatewayError } from '../../core/errors.ts'
import { Type } from '../../core/schema.ts'
import type { Schema } from '../../sdk/schema/schema.ts'
import { Int64, Uint64 } from '../../sdk/schema/schema-types.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { Service } from '../../sdk/service/service.ts'
import { openCliServer } from '../fixtures/cli-server.ts'
import { listenHttp } from '../fixtures/listen.ts'
import { createQuietLog } from '../fixtures/sdk-services.ts'

const { run, proxy, url, token, post } = await openCliServer(t)

const show = (n: Schema) =>
  endpoint({
    request: Type.Object({ n: n as ReturnType<typeof Type.Integer> }),
    response: Type.Object({ got: Type.String() }),
    handle: ({ n }) => ({ got: String(n) }),
  })
const endpoints: Endpoints = {
  integer: show(Type.Integer()),
  nullable: show(Type.Union([Type.Integer(), Type.Null()])),
  int64: show(Int64()),
  uint64: show(Uint64()),
  number: show(Type.Number()),
}
const nums = new Service({
  ...{ name: 'nums', proxy, auth: { id: 'admin', secret: 'mx' }, log: createQuietLog().log },
}).handle('Nums', endpoints)
await nums.start()
t.teardown(() => nums.stop())

/** Result of a request: the body received by the handler, or `400` with the error. */
interface Outcome {
  readonly got: string
  readonly error?: string
}

async function send(path: string, body?: string, type = 'application/json'): Promise<Outcome> {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    ...(body !== undefined && { body }),
  })
  const { got, Detail: error } = (await response.json()) as { got?: string; Detail: string }
  return got === undefined ? { got: String(response.status), error } : { got }
}

/** A command in this process; an invalid flag counts as 400. */
async function type(command: () => Promise<void>): Promise<Outcome> {
  try {
    return JSON.parse(await run({ run: command })) as Outcome
  } catch (error) {
    const { message, status, cause } = error as Error & { status: number }
    const isRejected = status === 2 || (cause instanceof GatewayError && cause.code === 400)
    return { got: isRejected ? '400' : message, error: message }
  }
}

const dynamic = (...args: string[]): Promise<Outcome> => type(() => runDynamic('nums', args, []))

/** Passes the text on standard input. */
async function pipe(text: string, work: () => Promise<Outcome>): Promise<Outcome> {
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', {
    ...stdin,
    get: () => Readable.from([Buffer.from(text)]),
  })
  try {
    return await work()
  } finally {
    Object.defineProperty(process, 'stdin', stdin)
  }
}

const toMethod = (name: string): string => `Nums.${name[0]!.toUpperCase()}${name.slice(1)}`

type Send = (name: string, json: string) => Promise<Outcome>

const BODIES: Readonly<Record<string, Send>> = {
  'POST body': (name, n) => send(`/nums/nums/${name}`, `{"n":${n}}`),
  'JSON-RPC envelope': (name, n) =>
    send(`/nums/nums/${name}`, `{"id":1,"params":[{"n":${n}}]}`, 'application/json-rpc'),
  '/rpc': (name, n) =>
    send('/rpc', `{"service":"nums","method":"${toMethod(name)}","request":{"n":${n}}}`),
  'mx call': (name, n) => type(() => callCommand.run(['nums', toMethod(name), `{"n":${n}}`])),
  '--json': (name, n) => dynamic(name, '--json', `{"n":${n}}`),
  'standard input': (name, n) => pipe(`{"n":${n}}\n`, () => dynamic(name, '-')),
}
const SENDERS: Readonly<Record<string, Send>> = {
  'GET query': (name, n) => send(`/nums/nums/${name}?n=${n}`),
  form: (name, n) => send(`/nums/nums/${name}`, `n=${n}`, 'application/x-www-form-urlencoded'),
  flag: (name, n) => dynamic(name, `--n=${n}`),
  ...BODIES,
}

async function check(
  senders: Readonly<Record<string, Send>>,
  typed: string,
  expected: Readonly<Record<string, string>>,
): Promise<void> {
  await t.test(typed, async (t) => {
    for (const [name, target] of Object.entries(expected))
      for (const [sender, send] of Object.entries(senders)) {
        const { got, error } = await send(name, typed)
        t.equal(got, target, `${sender}, ${name}: ${error}`)
        if (target === '400')
          t.match(error, typed.replaceAll('"', ''), `${sender}, ${name} contains the field name`)
      }
  })
}

const NAMES = ['integer', 'nullable', 'int64', 'uint64', 'number']
const TABLE: Readonly<Record<string, readonly string[]>> = {
  '9007199254740991': Array(5).fill('9007199254740991'),
  '9007199254740992': ['400', '400', ...Array(3).fill('9007199254740992')],
  '9007199254740993': ['400', '400', '9007199254740993', '9007199254740993', '9007199254740992'],
  '-9007199254740993': ['400', '400', '-9007199254740993', '400', '-9007199254740992'],
  '9007199254740993.0': ['400', '400', '9007199254740993', '9007199254740993', '9007199254740992'],
  '9.007199254740993e15': [
    ...['400', '400', '9007199254740993', '9007199254740993', '9007199254740992'],
  ],
  '12345678901234567890': ['400', '400', '400', '12345678901234567890', '12345678901234567000'],
  '1e300': ['400', '400', '400', '400', '1e+300'],
  '1e400': ['400', '400', '400', '400', '400'],
  '1e3': ['1000', '1000', '1000', '1000', '1000'],
  '1.5': ['400', '400', '400', '400', '1.5'],
  '0.1': ['400', '400', '400', '400', '0.1'],
  '-0': ['0', '0', '0', '0', '0'],
}
for (const [typed, row] of Object.entries(TABLE))
  await check(SENDERS, typed, Object.fromEntries(NAMES.map((name, i) => [name, row[i]!])))

// A 64-bit integer may be a string (ProtoJSON); other integers beyond 2^53 may not.
await check(BODIES, '"9007199254740993"', {
  integer: '400',
  int64: '9007199254740993',
  uint64: '9007199254740993',
  number: '400',
})

t.test('preserves JSON numbers of requests and responses exactly', async (t) => {
  const typed =
    '{"2": 9007199254740993,"1":[1E400,1.0, -0],"t":"\\u00e4\\/","t":0.1000000000000000055}'
  const bodies: string[] = []
  const port = await listenHttp(t, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body.trim())
    response.setHeader('content-type', 'application/json').end(typed)
  })
  const address = `127.0.0.1:${port}`
  const values = ['2', 'id'].map((name) => ({ name, type: 'int64', values: [] }))
  const { status } = await post('/registry/registry/register', {
    name: 'typed',
    version: '1',
    nodes: [{ id: 'typed-1', address, metadata: { protocol: 'http' } }],
    endpoints: [
      { name: 'Typed.Call', request: { name: '', type: '', values } },
      { name: 'Typed.Stream', metadata: { stream: 'true' } },
    ],
  })
  t.equal(status, 200)
  const readable = '{"1":[1E400,1.0,-0],"2":9007199254740993,"t":0.1000000000000000055}'
  const compact = typed.replace(/ /g, '')
  const commands: readonly (readonly [() => Promise<string>, reply: string])[] = [
    [() => run(callCommand, 'typed', 'Typed.Call', typed), readable],
    [() => run(callCommand, 'typed', 'Typed.Call', typed, '-oraw'), compact],
    [() => run(streamCommand, 'typed', 'Typed.Stream', typed), readable],
    [() => run(streamCommand, 'typed', 'Typed.Stream', typed, '-oraw'), compact],
    [() => run({ run: () => runDynamic('typed', ['call', '--json', typed], []) }), readable],
    [() => run({ run: () => runDynamic('typed', ['stream', '--json', typed], []) }), readable],
  ]
  for (const [command, reply] of commands) {
    const output = await command()
    t.equal(reply === readable ? output.replace(/\s/g, '') : output.trim(), reply)
    t.equal(bodies.pop(), typed)
  }
  const yaml = await run(callCommand, 'typed', 'Typed.Call', '-oyaml')
  t.match(yaml, /"2": 9007199254740993\n/)
  const call = ['call', '--json={"x":1.0}', '--id=9007199254740993']
  await run({ run: () => runDynamic('typed', call, []) })
  t.equal(bodies.pop(), '{"x":1.0,"id":9007199254740993}')
})
