import t from 'tap'
import { reindentJson } from '../../../../core/request/json/reindent-json.ts'

t.test('an indented JSON text has one member per line and unchanged numbers', async (t) => {
  const text = '{"a":9007199254740993, "b":[1.0,-0,"x: {,}\\"",{}],"c":[ ],"d":{"e":null}}'
  t.equal(
    reindentJson(text, '  '),
    `{
  "a": 9007199254740993,
  "b": [
    1.0,
    -0,
    "x: {,}\\"",
    {}
  ],
  "c": [],
  "d": {
    "e": null
  }
}`,
  )
})

t.test('an empty indent restores compact JSON', async (t) => {
  const text = '{"a":[1,{"b c":" "}],"d":true}'
  t.equal(reindentJson(reindentJson(text, '  '), ''), text)
  for (const scalar of ['1', '"a\\\\"', ' null '])
    t.equal(reindentJson(scalar, '  '), scalar.trim())
})
