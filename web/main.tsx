import { render } from 'preact'
import { followHistory } from './router.ts'
import { keepConnected } from './rpc/caller.ts'
import { keepLoggedIn } from './session.ts'
import { App } from './shell/app.tsx'
import { preloadPage } from './shell/current-page.tsx'
import { applyTheme } from './shell/theme.ts'
import './style/tokens.css'
import './style/base.css'
import './style/parts.css'
import './style/shell.css'

applyTheme()
preloadPage()
followHistory()
keepConnected()
keepLoggedIn()
render(<App />, document.getElementById('app')!)
