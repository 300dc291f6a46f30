import ts from '/work/wt/tests-a/test/facade/openapi-client/node_modules/typescript/lib/typescript.js';
import { readFileSync, writeFileSync } from 'node:fs';
const files = process.argv.slice(2);
let total = 0;
for (const file of files) {
  let text = readFileSync(file, 'utf8');
  const depth = '../'.repeat(file.replace(/^test\//, '').split('/').length - 1) || './';
  const has = (re) => re.test(text);
  const needs = { callsOf: new Set(), pluck: false, writing: false };
  // ---- local definitions that the shared ones replace
  const renames = [];
  const drop = (re, name, as) => {
    const m = re.exec(text);
    if (!m) return;
    text = text.replace(re, '');
    renames.push([m[1], as]); needs.callsOf.add(as);
  };
  const IG = String.raw`(?:// biome-ignore lint/suspicious/noExplicitAny: [^\n]*\n)?`;
  drop(new RegExp(`^${IG}const (admin|ask|must) = (?:async )?\\(\\w+: string, input: (?:object|unknown)(?: = \\{\\})?\\)(?:: Promise<any>)? => mustCall\\(server, server\\.adminKey, \\w+, input\\);\\n`, 'm'), 0, 'must');
  drop(new RegExp(`^${IG}const (admin|ask|must) = \\(tool: string, input: (?:object|unknown)(?: = \\{\\})?, key = server\\.adminKey\\)(?:: Promise<any>)? =>\\s+mustCall\\(server, key, tool, input\\);\\n`, 'm'), 0, 'must');
  drop(/^async function (refusal|refused)\(tool: string, input: object(?: = \{\})?, key = server\.adminKey\)[^{]*\{\n  const answer = await callTool\(server, key, tool, input\);\n  assert\.ok\('error' in answer[^\n]*\n  return answer\.error;\n\}\n+/m, 0, 'refused');
  drop(/^const (codeOf|code) = async \((?:key: string, )?tool: string, input: object(?: = \{\})?(?:, key(?:: string| = server\.adminKey))?\) => \{\n  const answer = await callTool\(server, key, tool, input\);\n  return 'error' in answer \? answer\.error\.code : 'ok';\n\};\n/m, 0, 'codeOf');
  // `code` with the key first is left to be done by hand: undo
  for (const [from, to] of renames) if (from !== to) text = text.replace(new RegExp(`(?<![\\w.'])${from}\\(`, 'g'), `${to}(`);
  // merged destructuring that is there
  const there = /^const \{ ([^}]*) \} = callsOf\(server\);\n/m.exec(text);
  const alias = new Map();
  if (there) for (const part of there[1].split(',').map((s) => s.trim()).filter(Boolean)) {
    const [a, b = a] = part.split(':').map((s) => s.trim()); alias.set(a, b);
  }
  for (const [a, b] of alias) if (a !== b && !new RegExp(`\\b${a}\\b\\s*[(=:]`).test(text.replace(there[0], ''))) {
    text = text.replace(new RegExp(`(?<![\\w.'])${b}\\(`, 'g'), `${a}(`); alias.set(a, a);
  }
  const nameOf = (fn) => alias.get(fn) ?? fn;
  const taken = (fn) => !there && !needs.callsOf.has(fn) && new RegExp(`(?:const|function|let)\\s+(?:\\{[^}]*\\b)?${fn}\\b`).test(text);
  // ---- AST edits, several passes
  for (let pass = 0; pass < 6; pass += 1) {
    const sf = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const edits = [];
    const src = (n) => n.getText(sf);
    const canCall = /\bserver\b/.test(text) && !/^export /m.test(text);
    const use = (fn) => { needs.callsOf.add(fn); return nameOf(fn); };
    const visit = (n) => {
      if (ts.isCallExpression(n) && ts.isIdentifier(n.expression) && canCall) {
        const fn = n.expression.text;
        const a = n.arguments;
        if ((fn === 'mustCall' || fn === 'callTool') && a.length >= 3 && a.length <= 4 && src(a[0]) === 'server') {
          const to = fn === 'mustCall' ? 'must' : 'call';
          const scoped = taken(to) || hidden(n, nameOf(to));
          if (!scoped) {
            const key = src(a[1]) === 'server.adminKey' ? '' : `, ${src(a[1])}`;
            const input = a[3] ? `, ${src(a[3])}` : key ? ', {}' : '';
            edits.push([n.getStart(sf), n.end, `${use(to)}(${src(a[2])}${input}${key})`]);
            return;
          }
        }
      }
      // pluck
      if (ts.isCallExpression(n) && ts.isPropertyAccessExpression(n.expression) && /^assert$/.test(src(n.expression.expression)) && n.arguments.length >= 2) {
        const first = n.arguments[0];
        if (src(n).includes('\n') || true) {
          const p = plucked(first);
          if (p) { edits.push([first.getStart(sf), first.end, p]); needs.pluck = true; return; }
        }
      }
      ts.forEachChild(n, visit);
    };
    const plucked = (e) => {
      if (!ts.isCallExpression(e) || !ts.isPropertyAccessExpression(e.expression) || e.expression.name.text !== 'map' || e.arguments.length !== 1) return;
      if (e.expression.questionDotToken) return;
      const f = e.arguments[0];
      if (!ts.isArrowFunction(f) || f.parameters.length !== 1 || !ts.isObjectBindingPattern(f.parameters[0].name)) return;
      const names = f.parameters[0].name.elements.map((x) => (!x.propertyName && !x.initializer && !x.dotDotDotToken ? src(x.name) : undefined));
      if (names.includes(undefined)) return;
      const body = f.body;
      let out;
      if (ts.isIdentifier(body)) out = [body.text];
      else if (ts.isArrayLiteralExpression(body) && body.elements.every(ts.isIdentifier)) out = body.elements.map((x) => x.text);
      else return;
      if (out.some((x) => !names.includes(x))) return;
      let from = e.expression.expression;
      if (out.length > 1 && !/data|records|body|result|issues/.test(src(from)) ) { /* still fine */ }
      return `pluck(${src(from)}, ${out.map((x) => `'${x}'`).join(', ')})`;
    };
    const hidden = (n, name) => { // a local of this name in an enclosing scope
      for (let p = n.parent; p; p = p.parent) {
        if (ts.isBlock(p)) for (const s of p.statements) {
          if (ts.isVariableStatement(s) && s.declarationList.declarations.some((d) => new RegExp(`\\b${name}\\b`).test(src(d.name)))) return true;
          if (ts.isFunctionDeclaration(s) && s.name?.text === name) return true;
        }
        if (p.parameters?.some?.((q) => new RegExp(`\\b${name}\\b`).test(src(q.name)))) return true;
      }
      return false;
    };
    // statements: const answer = await CALL; then an assertion about its error
    const inBlock = (list) => {
      for (let i = 0; i + 1 < list.length; i += 1) {
        const s = list[i];
        if (!ts.isVariableStatement(s) || s.declarationList.declarations.length !== 1) continue;
        const d = s.declarationList.declarations[0];
        if (!ts.isIdentifier(d.name) || !d.initializer || !ts.isAwaitExpression(d.initializer)) continue;
        const c = d.initializer.expression;
        if (!ts.isCallExpression(c)) continue;
        const callee = src(c.expression);
        const isServer = callee === nameOf('call') && (there || needs.callsOf.has('call'));
        const isWorld = /^(world|registry|test|limited|opened)\.call$/.test(callee) && worldKind;
        if (!isServer && !isWorld) continue;
        const x = d.name.text;
        const rest = list.slice(i + 1);
        const next = src(rest[0]);
        const uses = rest.map(src).join('\n').match(new RegExp(`(?<![\\w.])${x}\\b(?!:)`, 'g'))?.length ?? 0;
        const to = (fn) => (isServer ? use(fn) : callee.replace('call', fn));
        const newCall = (fn) => src(c).replace(callee, () => to(fn));
        let m;
        const esc = x;
        const notTaken = (fn) => !isServer || (!taken(fn) && !hidden(s, nameOf(fn)));
        if (notTaken('codeOf') && uses === 2 && (m = new RegExp(`^assert\\.equal\\(\\s*'error' in ${esc} && ${esc}\\.error\\.code,([\\s\\S]*)\\);$`).exec(next))) {
          edits.push([s.getStart(sf), rest[0].end, `assert.equal(await ${newCall('codeOf')},${m[1]});`]); return true;
        }
        if (notTaken('codeOf') && uses === 2 && (m = new RegExp(`^assert\\.ok\\(\\s*'error' in ${esc} && ${esc}\\.error\\.code === ('\\w+')((?:,[\\s\\S]*)?)\\);$`).exec(next))) {
          edits.push([s.getStart(sf), rest[0].end, `assert.equal(await ${newCall('codeOf')}, ${m[1]}${m[2]});`]); return true;
        }
        if (notTaken('refused') && (m = new RegExp(`^assert\\.ok\\(\\s*'error' in ${esc}(?:, [^;]*)?\\);$`).exec(next)) && !/===/.test(next)) {
          const others = rest.slice(1);
          const all = others.map(src).join('\n');
          const u = all.match(new RegExp(`(?<![\\w.])${esc}\\b(?!:)`, 'g'))?.length ?? 0;
          const ue = all.match(new RegExp(`(?<![\\w.])${esc}\\.error\\b(?!:)`, 'g'))?.length ?? 0;
          if (u === ue && u > 0) {
            edits.push([d.initializer.getStart(sf), d.initializer.end, `await ${newCall('refused')}`]);
            edits.push([rest[0].getFullStart(), rest[0].end, '']);
            for (const o of others) {
              const t = src(o);
              const changed = t.replace(new RegExp(`(?<![\\w.])${esc}\\.error\\b`, 'g'), esc);
              if (changed !== t) edits.push([o.getStart(sf), o.end, changed]);
            }
            return true;
          }
          if (u === 0) {
            edits.push([s.getStart(sf), rest[0].end, `await ${newCall('refused')};`]); return true;
          }
        }
      }
      return false;
    };
    const worldKind = /TestRegistry|openTestRegistry|FlowWorld|WebhookWorld/.test(text);
    let did = false;
    const blocks = (n) => { if (did) return; if ((ts.isBlock(n) || ts.isSourceFile(n)) && inBlock([...n.statements])) { did = true; return; } ts.forEachChild(n, blocks); };
    if (pass >= 1) { // after calls are renamed
      for (let k = 0; k < 200; k += 1) { // one at a time, as texts move
        did = false; edits.length = 0;
        const sf2 = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
        const run = new Function();
        // re-run on the fresh tree
        const again = (node) => { if (did) return; if ((ts.isBlock(node) || ts.isSourceFile(node)) && inBlockOn(sf2, [...node.statements])) { did = true; return; } ts.forEachChild(node, again); };
        again(sf2);
        if (!did) break;
        apply(edits); total += 1;
      }
      break;
    }
    visit(sf);
    total += edits.length;
    apply(edits);
    function inBlockOn(tree, list) { return inBlock2(tree, list); }
    function inBlock2(tree, list) {
      const g = (n) => n.getText(tree);
      for (let i = 0; i + 1 < list.length; i += 1) {
        const s = list[i];
        if (!ts.isVariableStatement(s) || s.declarationList.declarations.length !== 1) continue;
      }
      return false;
    }
    function apply(list) {
      list.sort((p, q) => q[0] - p[0]);
      for (const [from, to, by] of list) text = text.slice(0, from) + by + text.slice(to);
    }
  }
  // ---- error patterns, on fresh trees
  for (let k = 0; k < 300; k += 1) {
    const step = errorStep(file, text, { nameOf, there, needs, taken });
    if (!step) break;
    text = step; total += 1;
  }
  // writes of their own
  const w = /(\w+(?:\.\w+)*)\.transaction\(\((tx)\) =>\s*tx\.(\w+)\.(insert|update|delete)\(((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)\),?\s*\)/g;
  if (!file.includes('/support/')) text = text.replace(w, (all, store, _, name, op, args) => {
    if (/\btx\b/.test(args)) return all;
    needs.writing = true; total += 1;
    return `writing(${store}).${name}.${op}(${args})`;
  });
  // ---- imports and the destructuring
  if (needs.callsOf.size > 0) {
    for (const fn of needs.callsOf) if (!alias.has(fn)) alias.set(fn, fn);
    const used = [...alias].filter(([, b]) => new RegExp(`(?<![\\w.])${b}\\b`).test(text.replace(there?.[0] ?? '', '')));
    const line = `const { ${used.map(([a, b]) => (a === b ? a : `${a}: ${b}`)).join(', ')} } = callsOf(server);\n`;
    if (there) text = text.replace(there[0], line);
    else {
      const at = /^const server = [^\n]*\n(?:[^\n]*\n)*?(?=\n|const |let |\/\/|\/\*\*|after|before|await)/m.exec(text) ?? /^let server: TestServer;\n/m.exec(text);
      if (at) text = text.slice(0, at.index) + at[0] + line + text.slice(at.index + at[0].length);
      else console.log('NO PLACE', file);
    }
  }
  const imp = (name, from) => {
    const re = new RegExp(`import \\{([^}]*)\\} from '${(depth + 'support/' + from).replaceAll('.', '\\.').replaceAll('/', '\\/')}';`);
    const m = re.exec(text);
    if (m) { if (!new RegExp(`\\b${name}\\b`).test(m[1])) text = text.replace(m[0], `import { ${m[1].trim().replace(/,$/, '')}, ${name} } from '${depth}support/${from}';`); }
    else text = text.replace(/^import /m, `import { ${name} } from '${depth}support/${from}';\nimport `);
  };
  if (/\bcallsOf\(/.test(text)) imp('callsOf', 'calls.ts');
  if (/\bpluck\(/.test(text)) imp('pluck', 'pluck.ts');
  if (/\bwriting\(/.test(text)) imp('writing', 'writing.ts');
  writeFileSync(file, text);
}
console.log(total, 'edits');

function errorStep(file, text, { nameOf, there, needs, taken }) {
  const sf = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const src = (n) => n.getText(sf);
  const worldKind = /TestRegistry|openTestRegistry|FlowWorld|WebhookWorld/.test(text);
  const hidden = (n, name) => {
    for (let p = n.parent; p; p = p.parent) {
      if (ts.isBlock(p)) for (const s of p.statements) {
        if (ts.isVariableStatement(s) && s.declarationList.declarations.some((d) => new RegExp(`\\b${name}\\b`).test(src(d.name)))) return true;
        if (ts.isFunctionDeclaration(s) && s.name?.text === name) return true;
      }
      if (p.parameters?.some?.((q) => new RegExp(`\\b${name}\\b`).test(src(q.name)))) return true;
    }
    return false;
  };
  let result;
  const inBlock = (list) => {
    for (let i = 0; i + 1 < list.length; i += 1) {
      const s = list[i];
      if (!ts.isVariableStatement(s) || s.declarationList.declarations.length !== 1) continue;
      const d = s.declarationList.declarations[0];
      if (!ts.isIdentifier(d.name) || !d.initializer || !ts.isAwaitExpression(d.initializer)) continue;
      const c = d.initializer.expression;
      if (!ts.isCallExpression(c)) continue;
      const callee = src(c.expression);
      const isServer = callee === nameOf('call') && (there || needs.callsOf.has('call'));
      const isWorld = /^(world|registry|opened)\.call$/.test(callee) && worldKind;
      if (!isServer && !isWorld) continue;
      const x = d.name.text;
      const rest = list.slice(i + 1);
      const next = src(rest[0]);
      const count = (t, tail = '') => t.match(new RegExp(`(?<![\\w.'])${x}${tail}\\b(?!:)`, 'g'))?.length ?? 0;
      const restText = rest.map(src).join('\n');
      const uses = count(restText);
      const ok = (fn) => !isServer || (!taken(fn) && !hidden(s, nameOf(fn)));
      const newCall = (fn) => { if (isServer) needs.callsOf.add(fn); return (isServer ? nameOf(fn) : callee.replace('call', fn)) + src(c).slice(callee.length); };
      let m;
      if (ok('codeOf') && uses === 2 && (m = new RegExp(`^assert\\.equal\\(\\s*'error' in ${x} && ${x}\\.error\\.code,([\\s\\S]*)\\);$`).exec(next))) {
        result = text.slice(0, s.getStart(sf)) + `assert.equal(await ${newCall('codeOf')},${m[1]});` + text.slice(rest[0].end); return true;
      }
      if (ok('codeOf') && uses === 2 && (m = new RegExp(`^assert\\.ok\\(\\s*'error' in ${x} && ${x}\\.error\\.code === ('\\w+')((?:,[\\s\\S]*)?)\\);$`).exec(next))) {
        result = text.slice(0, s.getStart(sf)) + `assert.equal(await ${newCall('codeOf')}, ${m[1]}${m[2]});` + text.slice(rest[0].end); return true;
      }
      if (ok('refused') && !/===|&&/.test(next) && new RegExp(`^assert\\.ok\\(\\s*'error' in ${x}(?:,[\\s\\S]*)?\\);$`).test(next)) {
        const others = text.slice(rest[0].end, rest.at(-1).end);
        const u = count(others); const ue = count(others, '\\.error');
        if (u === ue) {
          const head = text.slice(0, s.getStart(sf));
          const call = u === 0 ? `await ${newCall('refused')};` : `const ${x} = await ${newCall('refused')};`;
          result = head + call + others.replace(new RegExp(`(?<![\\w.'])${x}\\.error\\b`, 'g'), x) + text.slice(rest.at(-1).end); return true;
        }
      }
    }
    return false;
  };
  let did = false;
  const blocks = (n) => { if (did) return; if ((ts.isBlock(n) || ts.isSourceFile(n)) && inBlock([...n.statements])) { did = true; return; } ts.forEachChild(n, blocks); };
  blocks(sf);
  return result;
}
