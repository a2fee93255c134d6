// Written by `npm run gen`, not by hand.
import event from './event.ts'
import proxy from './proxy.ts'
import web from './web.ts'

/** Every file of this folder by its name; each exports what creates a handler. */
export const handlers: {
  readonly event: typeof event
  readonly proxy: typeof proxy
  readonly web: typeof web
} = {
  event,
  proxy,
  web,
}
