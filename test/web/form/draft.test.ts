import t from 'tap'
import {
  ABSENT,
  addPart,
  changePart,
  type Draft,
  emptyDraft,
  movePart,
  removePart,
  withAlternative,
  withPart,
  withText,
} from '../../../web/form/draft.ts'
import { toField } from '../../../web/form/field.ts'

const LIST = toField({ type: 'array', items: { type: 'string' } })
const listKeys = ({ parts }: Draft) => parts.map(({ draft }) => draft.text)

t.test('adding, moving and removing items preserves their input', (t) => {
  let list = emptyDraft(LIST)
  for (const text of ['a', 'b', 'c']) {
    list = addPart(list, LIST)
    list = withPart(list, list.parts.at(-1)!.id, { draft: withText(ABSENT, text) })
  }
  t.same(listKeys(movePart(list, 2, -1)), ['a', 'c', 'b'])
  t.same(listKeys(movePart(list, 0, 1)), ['b', 'a', 'c'])
  t.same(listKeys(movePart(list, 0, -1)), ['a', 'b', 'c'])
  t.same(listKeys(movePart(list, 2, 1)), ['a', 'b', 'c'])
  const rest = removePart(list, 1)
  t.same(listKeys(rest), ['a', 'c'])
  t.equal(addPart(rest, LIST).parts.at(-1)!.id, 3, 'ids are not reused')
  t.end()
})

t.test('initial drafts contain required fields, but no optional ones', (t) => {
  const form = toField({
    type: 'object',
    required: ['inner', 'version', 'isOpen', 'name', 'count', 'two'],
    properties: {
      inner: { type: 'object', properties: { a: { type: 'string' } } },
      version: { const: 1 },
      isOpen: { type: 'boolean' },
      name: { type: 'string' },
      count: { type: 'integer', default: 1 },
      two: { type: 'array', minItems: 2, items: { type: 'string' } },
      other: { type: 'object', properties: {} },
    },
  })
  const { parts } = emptyDraft(form)
  t.same(
    parts.map(({ draft }) => draft.presence),
    ['set', 'set', 'set', 'absent', 'absent', 'set', 'absent'],
  )
  t.equal(parts[0]!.draft.parts.length, 1)
  t.equal(parts[5]!.draft.parts.length, 2)
  t.end()
})

t.test('selecting an alternative again restores its input', (t) => {
  const field = toField({ anyOf: [{ type: 'string' }, { type: 'integer' }] })
  const text = withPart(emptyDraft(field), 0, { draft: withText(ABSENT, 'typed') })
  const number = withAlternative(text, field, 1)
  t.equal(number.text, '1')
  t.equal(withAlternative(number, field, 0).parts[0]!.draft.text, 'typed')
  t.equal(withAlternative(ABSENT, field, 1).parts.length, 2)
  t.end()
})

t.test('a late change of a part preserves other input', (t) => {
  let list = addPart(addPart(emptyDraft(LIST), LIST), LIST)
  const late = changePart(0, () => withText(ABSENT, 'file'))
  list = changePart(1, (draft) => withText(draft, 'typed'))(list)
  t.same(listKeys(late(list)), ['file', 'typed'])
  t.same(listKeys(late(removePart(list, 0))), ['typed'])
  t.end()
})
