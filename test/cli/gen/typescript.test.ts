import t from 'tap'
import type { EndpointInterface } from '../../../cli/gen/interface.ts'
import { toTypeScript } from '../../../cli/gen/typescript.ts'
import type { JsonSchema } from '../../../sdk/schema/json-schema.ts'

const CALL: EndpointInterface = {
  ...{ handler: 'MailBox', method: 'Call', description: '', isStream: false },
  ...{ routes: [], request: 'CallRequest', response: 'CallResponse' },
}

function write(
  schemas: Readonly<Record<string, JsonSchema>>,
  ...endpoints: readonly EndpointInterface[]
): string {
  return toTypeScript({ services: [{ name: 'mail-box', version: '1', endpoints }], schemas })
}

/** Returns the type generated for a schema. */
function getType(schema: JsonSchema): string {
  return /^export type Some = (.*)$/m.exec(write({ Some: schema }))?.[1] ?? ''
}

t.test('schemas are converted to types', (t) => {
  const text: JsonSchema = { type: 'string' }
  for (const [schema, type] of [
    [text, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['integer', 'string'] }, 'number | string'],
    [{ type: ['integer', 'number'] }, 'number'],
    [{ type: 'null' }, 'null'],
    [{}, 'unknown'],
    [{ const: 'a"b' }, '"a\\"b"'],
    [{ enum: ['a', 1] }, '"a" | 1'],
    [{ anyOf: [text, { type: 'boolean' }] }, 'string | boolean'],
    [{ allOf: [{ $ref: '#/components/schemas/A' }, text] }, 'A & string'],
    [{ type: 'array', items: text }, 'readonly string[]'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'readonly ("a" | "b")[]'],
    [{ type: 'array' }, 'readonly unknown[]'],
    [{ type: 'array', prefixItems: [text, { type: 'integer' }] }, '[string, number]'],
    [{ type: 'object', additionalProperties: text }, 'Readonly<Record<string, string>>'],
    [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
  ] as const)
    t.equal(getType(schema), type, JSON.stringify(schema))
  t.end()
})

t.test('a property with a default is optional in requests and required in responses', (t) => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['n', 'odd-name'],
    properties: { n: { type: 'integer', default: 1 }, 'odd-name': {}, free: {} },
  }
  const text = write({ CallRequest: schema, CallResponse: schema })
  t.match(text, 'interface CallRequest {\n  readonly n?: number\n  readonly "odd-name": unknown\n')
  t.match(text, 'interface CallResponse {\n  readonly n: number\n')
  t.match(text, '  readonly free?: unknown\n')
  t.end()
})

t.test('names and versions of a server cannot end a comment', (t) => {
  const name = 'a */ evil() /*'
  for (const newline of ['\n', '\r', '\u2028']) {
    const services = [{ name, version: `1${newline}evil()`, endpoints: [CALL] }]
    const text = toTypeScript({ services, schemas: {} })
    t.match(text, '(1 evil()) by mx gen client')
    t.match(text, '/** The service `a *\\/ evil() /*`. */')
  }
  t.end()
})

t.test('a description cannot end a comment', (t) => {
  const text = write({}, { ...CALL, description: 'Evil */ alert(1) /*\nand more' })
  t.match(text, '    /** Evil *\\/ alert(1) /* and more */\n')
  t.end()
})

t.test(
  'a service becomes a function that creates its client, with stream methods for streams',
  (t) => {
    const text = write({}, CALL, { ...CALL, method: 'Watch', isStream: true })
    t.match(text, /^\/\/ Generated from mail-box \(1\) by mx gen client\. Do not edit\.\n/)
    t.match(text, "import type { CallOptions, CallStream, Client } from 'mx-gateway'")
    t.match(
      text,
      'readonly call: (request: CallRequest, options?: CallOptions) => Promise<CallResponse>',
    )
    t.match(text, /readonly watch: \{\n +readonly stream: \(/)
    t.match(text, 'export function createMailBoxClient(client: Client): MailBoxClient {')
    t.match(write({}, CALL), "import type { CallOptions, Client } from 'mx-gateway'")
    t.end()
  },
)
