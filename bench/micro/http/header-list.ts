import { appendParsed, HeaderList } from '../../../core/http/headers.ts'
import { BROWSER_FIELDS } from '../bench-exchange.ts'
import type { Micro } from '../micro.ts'

const list = new HeaderList(BROWSER_FIELDS)
const changing = new HeaderList(BROWSER_FIELDS)

const micro: Micro = {
  benches: {
    'get, last of 5': () => list.get('user-agent'),
    'get, missing': () => list.get('origin'),
    'append 5, checked': () => new HeaderList(BROWSER_FIELDS),
    'appendParsed 5': () => {
      const copy = new HeaderList()
      for (let i = 0; i < BROWSER_FIELDS.length; i += 2)
        appendParsed(copy, BROWSER_FIELDS[i]!, BROWSER_FIELDS[i + 1]!)
      return copy
    },
    'set, replacing': () => changing.set('accept-language', 'de'),
  },
}

export default micro
