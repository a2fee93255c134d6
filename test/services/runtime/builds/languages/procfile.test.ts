import t from 'tap'
import { parseProcfile } from '../../../../../services/runtime/builds/languages/procfile.ts'

t.test('returns the web process', async (t) => {
  t.equal(parseProcfile('web: node x.js --port $PORT\n'), 'node x.js --port $PORT')
  t.equal(parseProcfile('worker: a\r\nweb:b  \r\n'), 'b')
  t.equal(parseProcfile('worker: a\n# web: c\nwebs: d\n'), undefined)
  t.equal(parseProcfile('web:\nworker: a\n'), undefined)
})
