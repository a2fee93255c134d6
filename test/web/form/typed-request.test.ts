import t from 'tap'
import type { JsonSchema } from '../../../sdk/schema/json-schema.ts'
import { ABSENT, type Draft, setDraft, withText } from '../../../web/form/draft.ts'
import { toField } from '../../../web/form/field.ts'
import {
  adoptRequest,
  openRequest,
  type RequestEditor,
  readRequest,
  toForm,
  toRaw,
} from '../../../web/form/typed-request.ts'

const toDraft = (text: string): Draft => withText(ABSENT, text)
const schema = (properties: Readonly<Record<string, JsonSchema>>, required: string[] = []) => ({
  ...{ type: 'object', properties, required },
})
const SHAPE = schema(
  {
    ...{ name: { type: 'string' }, count: { type: 'integer' }, must: { type: 'string' } },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  },
  ['must'],
)
const LABELS: Draft = {
  ...setDraft('', []),
  parts: [
    { id: 0, key: 'a', draft: toDraft('one') },
    { id: 1, key: 'a', draft: toDraft('two') },
  ],
}

/** A form with several errors. */
function openInvalid(): RequestEditor {
  const request = openRequest(toField(SHAPE))
  request.draft.value = setDraft('', [toDraft('Ann'), toDraft('abc'), ABSENT, LABELS])
  return request
}

t.test('switching an invalid form to JSON and back preserves all input', async (t) => {
  const request = openInvalid()
  const { value: draft } = request.draft
  toRaw(request)
  t.same(JSON.parse(request.raw.value), {
    ...{ name: 'Ann', count: 'abc', labels: { a: 'one', a_: 'two' } },
  })
  toForm(request)
  t.equal(request.isRaw.value, false)
  t.same(request.draft.value, draft)
})

t.test('edited JSON is loaded into the form', async (t) => {
  const request = openInvalid()
  toRaw(request)
  request.raw.value = '{"name":"Bob","must":"x"}'
  toForm(request)
  t.same(readRequest(request).value, { name: 'Bob', must: 'x' })
  toRaw(request)
  request.raw.value = '{"name":'
  toForm(request)
  t.equal(request.isRaw.value, true)
  t.match(request.problems.value, [{ path: 'request', message: /^must be JSON/ }])
  t.equal(request.raw.value, '{"name":')
  request.raw.value = '{"unknown":1}'
  toForm(request)
  t.equal(request.isRaw.value, true)
  t.match(request.problems.value, [{ message: /^cannot be shown in the form/ }])
})

t.test('input is adopted by another schema, even if fields are missing', async (t) => {
  const before = openRequest(toField(SHAPE))
  before.draft.value = setDraft('', [toDraft('Ann'), toDraft('abc'), ABSENT, ABSENT])
  const wider = openRequest(
    toField(schema({ ...SHAPE.properties, more: { type: 'string' } }, ['must'])),
  )
  adoptRequest(wider, before)
  t.equal(wider.isRaw.value, false)
  t.same(
    wider.draft.value.parts.map(({ draft }) => draft.text),
    ['Ann', 'abc', '', '', ''],
  )
  const other = openRequest(toField(schema({ other: { type: 'string' } })))
  adoptRequest(other, before)
  t.equal(other.isRaw.value, true)
  t.same(JSON.parse(other.raw.value), { name: 'Ann', count: 'abc' })
})

t.test('incomplete JSON is adopted unchanged', async (t) => {
  const before = openRequest(toField(SHAPE))
  toRaw(before)
  before.raw.value = '{"name":"An'
  const next = openRequest(toField(schema({ name: { type: 'string' } })))
  adoptRequest(next, before)
  t.equal(next.isRaw.value, true)
  t.equal(next.raw.value, '{"name":"An')
})

t.test('an untouched form starts over with another schema', async (t) => {
  const before = openRequest(toField(schema({ version: { const: 1 } }, ['version'])))
  const next = openRequest(toField(SHAPE))
  adoptRequest(next, before)
  t.equal(next.isRaw.value, false)
  t.equal(next.raw.value, '')
})
