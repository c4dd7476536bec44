/* Of each page in a frame: what is wider than the frame, which line is filled, which texts overlap. Run by
   geometry_test.sh; what it finds becomes lines of #found, and "done" at the end. */
const say = line => { document.getElementById('found').textContent += line + '\n'; };

function name_of(element) {
    const text = (element.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 40);
    return `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') || ''}"> "${text}"`;
}

function check_widths(where, page, width) {
    if (page.documentElement.scrollWidth > width)
        say(`${where}: the page is ${page.documentElement.scrollWidth} pixels wide`);
    for (const element of page.querySelectorAll('main *')) {
        if (element.closest('thead') && page.defaultView.getComputedStyle(element.closest('thead')).position === 'absolute')
            continue; // for screen readers alone
        const box = element.getBoundingClientRect();
        if (element.checkVisibility() && box.width > 0 && (box.right > width + 1 || box.left < -1))
            say(`${where}: from ${box.left.toFixed(0)} to ${box.right.toFixed(0)}: ${name_of(element)}`);
    }
}

function check_lines(where, page) {
    for (const line of page.querySelectorAll('.line, .grid, .base'))
        if (page.defaultView.getComputedStyle(line).fill !== 'none')
            say(`${where}: a line is filled: ${name_of(line)}`);
}

function texts_of(page) {
    const texts = [], walk = page.createTreeWalker(page.querySelector('main'), NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const thead = node.parentElement.closest('thead');
        if (!node.textContent.trim() || !node.parentElement.checkVisibility() || node.parentElement.closest('title, desc') ||
            (thead && page.defaultView.getComputedStyle(thead).position === 'absolute'))
            continue;
        const range = page.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects())
            if (box.width > 1)
                texts.push({ box, text: node.textContent.trim().slice(0, 40) });
    }
    return texts.sort((a, b) => a.box.top - b.box.top);
}

function check_overlaps(where, page) {
    const texts = texts_of(page);
    for (let i = 0; i < texts.length; i++)
        for (let k = i + 1; k < texts.length && texts[k].box.top < texts[i].box.bottom; k++) {
            const a = texts[i].box, b = texts[k].box;
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 1 && down > 4)
                say(`${where}: "${texts[i].text}" overlaps "${texts[k].text}"`);
        }
    return texts.length;
}

window.onload = () => {
    let texts = 0;
    for (const frame of document.querySelectorAll('iframe')) {
        const page = frame.contentDocument, width = page.documentElement.clientWidth;
        for (const open of [false, true]) {
            const where = `${frame.title} at ${width}${open ? ', all opened' : ''}`;
            for (const details of page.querySelectorAll('details'))
                details.open = open;
            check_widths(where, page, width);
            check_lines(where, page);
            texts += check_overlaps(where, page);
        }
    }
    say(`done: ${texts} texts`);
};
