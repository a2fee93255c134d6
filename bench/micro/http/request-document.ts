import { coerce } from '../../../core/request/coercion/coerce.ts'
import { parseSchema } from '../../../core/request/coercion/schema-shape.ts'
import { parseJson } from '../../../core/request/json/json.ts'
import { toRequestType } from '../../../core/request/media-type.ts'
import { mergeJson } from '../../../core/request/merge.ts'
import { parseQuery } from '../../../core/request/query/query.ts'
import { toRequestDocument } from '../../../core/request/request-document.ts'
import type { Micro } from '../micro.ts'

const shape = parseSchema(
  JSON.stringify({
    type: 'object',
    properties: {
      name: { type: 'string' },
      options: { type: 'object', properties: { limit: { type: 'integer' } } },
      tags: { type: 'array', items: { type: 'string' } },
    },
  }),
)
const type = toRequestType('application/json')
const empty = new Uint8Array(0)
const named = { variables: [], query: 'name=John', type, body: empty, shape }
const untyped = { ...named, shape: undefined }
const nested = { ...named, query: 'name=John+D%C3%B6&options.limit=10&tags=a&tags=b' }
const body = Buffer.from('{"name":"John","options":{"limit":10,"tags":["a","b"]},"ratio":1.5}')
const passed = { ...named, query: '', body }
const text = body.toString()
const large = JSON.stringify({ items: Array.from({ length: 100 }, () => JSON.parse(text)) })

const micro: Micro = {
  benches: {
    'parseQuery, name=John': () => parseQuery('name=John'),
    'coerce, 1 field': () => coerce({ name: 'John' }, shape),
    'toRequestDocument, name=John': () => toRequestDocument(named),
    'toRequestDocument, name=John, no shape': () => toRequestDocument(untyped),
    'toRequestDocument, 4 pairs, nested': () => toRequestDocument(nested),
    'toRequestDocument, body alone': () => toRequestDocument(passed),
    'mergeJson, 1 field, 66 bytes': () => mergeJson({ id: 1 }, text),
    'parseJson, 66 bytes': () => parseJson(text),
    'JSON.parse, 66 bytes': () => JSON.parse(text),
    'parseJson, 6.7 kB': () => parseJson(large),
    'JSON.parse, 6.7 kB': () => JSON.parse(large),
  },
  budgetNs: {
    'toRequestDocument, name=John': 1000,
    'toRequestDocument, body alone': 50,
  },
}

export default micro
