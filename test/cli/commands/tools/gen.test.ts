import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import { transform } from 'esbuild'
import t from 'tap'
import genCommand from '../../../../cli/commands/tools/gen.ts'
import { Type } from '../../../../core/schema.ts'
import { ROOT } from '../../../../scripts/root.ts'
import { Client } from '../../../../sdk/client/client.ts'
import { Int64 } from '../../../../sdk/schema/schema-types.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { Service } from '../../../../sdk/service/service.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { checkTypes, makeProject } from '../../../fixtures/compiler.ts'
import { createQuietLog } from '../../../fixtures/sdk-services.ts'

const server = await openCliServer(t)

const Tree = Type.Cyclic(
  { Node: Type.Object({ name: Type.String(), children: Type.Array(Type.Ref('Node')) }) },
  'Node',
)
const mailBox = new Service({
  name: 'mail-box',
  proxy: server.proxy,
  auth: { id: 'admin', secret: 'mx' },
  log: createQuietLog().log,
}).handle('MailBox', {
  call: endpoint({
    description: 'Says hello */ and ends no comment.',
    request: Type.Object({
      name: Type.String({ description: 'Who is greeted.' }),
      count: Type.Integer({ default: 3 }),
      'odd-name': Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('blue')])),
      labels: Type.Optional(Type.Record(Type.String(), Type.Array(Type.Number()))),
    }),
    response: Type.Object({ message: Type.String(), size: Type.Optional(Int64()) }),
    handle: ({ name, count }) => ({ message: `Hello ${name} ${count}` }),
  }),
  tree: endpoint({ request: Tree, response: Tree, handle: (tree) => tree }),
  count: endpoint({
    request: Type.Object({ to: Type.Integer() }),
    response: Type.Object({ n: Type.Integer() }),
    stream: 'server',
    async *handle({ to }) {
      for (let n = 1; n <= to; n++) yield { n }
    },
  }),
  find: endpoint({
    request: Type.Object({ id: Type.String() }),
    response: Type.Object({ id: Type.String() }),
    http: { method: ['GET', 'PUT'], path: '/mails/{id}' },
    handle: ({ id }) => ({ id }),
  }),
})
await mailBox.start()
t.teardown(() => mailBox.stop())

const OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  target: 'es2023',
  module: 'nodenext',
  allowImportingTsExtensions: true,
  types: ['node'],
}

t.test('mx gen client writes a module that compiles and calls the service', async (t) => {
  const folder = t.testdir({})
  const file = join(folder, 'client.ts')
  t.equal(await server.run(genCommand, 'client', 'mail-box', 'store', 'auth', '--file', file), '')
  const text = readFileSync(file, 'utf8')
  t.match(text, '/** Who is greeted. */\n  readonly name: string\n  readonly count?: number\n')
  t.match(text, 'readonly "odd-name"?: "red" | "blue"')
  const invalid = join(folder, 'wrong.ts')
  writeFileSync(
    invalid,
    `import { Client } from 'mx-gateway'
import { createMailBoxClient } from './client.ts'
const { MailBox } = createMailBoxClient(new Client())
const reply = await MailBox.call({ name: 1 })
reply.massage
for await (const { n } of MailBox.count.stream({ to: 1 })) n.toFixed()
const tree = await MailBox.tree({ name: 'a', children: [{ name: 'b', children: [] }] })
tree.children[0]?.name.length
`,
  )
  const result = await checkTypes(makeProject(folder, OPTIONS))
  t.match(
    result.filter((line) => !line.startsWith(' ')),
    [/wrong\.ts\(4,.*number.*string/, /wrong\.ts\(5,.*massage/],
  )

  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/mx-gateway'))
  const { code } = await transform(text, { loader: 'ts' })
  writeFileSync(join(folder, 'client.mjs'), code)
  const { createMailBoxClient } = await import(pathToFileURL(join(folder, 'client.mjs')).href)
  const client = new Client({ proxy: server.proxy, token: server.token })
  t.teardown(() => client.close())
  const { MailBox } = createMailBoxClient(client)
  t.same(await MailBox.call({ name: 'John' }), { message: 'Hello John 3' })
  const numbers: number[] = []
  for await (const { n } of MailBox.count.stream({ to: 2 })) numbers.push(n)
  t.same(numbers, [1, 2])
})

t.test(
  '--language=openapi writes a valid OpenAPI 3.1 document with the paths of the gateway',
  async (t) => {
    const names = ['mail-box', 'store', 'auth', 'runtime', 'registry', 'events']
    const args = ['client', ...names, '--language=openapi']
    const document = JSON.parse(await server.run(genCommand, ...args))
    t.equal(document.openapi, '3.1.0')
    const validator = new Validator()
    const { valid, errors } = await validator.validate(structuredClone(document))
    t.ok(valid, JSON.stringify(errors))
    t.same(Object.keys(document.paths).slice(0, 4), [
      ...['/mail-box/call', '/mail-box/tree', '/mail-box/count', '/mails/{id}'],
    ])
    t.same(Object.keys(document.paths['/mails/{id}']), ['get', 'put'])
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      t.ok(document.components.schemas[name!], String(name))
    const { status, body } = await server.post('/mail-box/call', { name: 'John' })
    t.same([status, body], [200, { message: 'Hello John 3' }])
    const { status: result } = await server.get('/store/list')
    t.equal(result, 200)
    t.ok(document.paths['/store/list'].post)
  },
)

t.test(
  'writes YAML into a .yaml file; an unknown service or language is rejected with a suggestion',
  async (t) => {
    const file = join(t.testdir({}), 'api.yaml')
    await server.run(genCommand, 'client', 'mail-box', '--language=openapi', '--file', file)
    t.match(readFileSync(file, 'utf8'), /^openapi: 3\.1\.0\n/)
    const fail = (...args: string[]) => server.run(genCommand, ...args)
    await t.rejects(fail('client', 'mail-bx'), {
      message: 'Service not found: mail-bx, did you mean mail-box?',
      status: 4,
    })
    await t.rejects(fail('client'), { message: /mx gen client <service>/, status: 2 })
    await t.rejects(fail('client', 'store', '--language=opnapi'), {
      message: /did you mean openapi/,
      status: 2,
    })
    await t.rejects(fail('client', 'store', '--file=/none/there.ts'), {
      message: /^cannot write \/none\/there\.ts: ENOENT/,
      status: 1,
    })
  },
)
